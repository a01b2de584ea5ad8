"""How a figure is printed, written down and compared with that of another commit."""

import datetime
import json
import os
import pathlib
import subprocess
import sys

from parts import ROOT, Wrong

RESULTS = ROOT / "bench" / "results"
folder = RESULTS  # where this run is written down


def git(*args):
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    return {"cores": os.cpu_count(), "cpu": model}


def commit():
    changed = git("status", "--porcelain", "-uno", "--", ".", ":!bench/results")
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")


def figure(name, value, budget, at_least):
    """One line of the table. A ratio of 1 or more is within the budget, whichever way the budget points."""
    ratio = value / budget if at_least else (budget / value if value else float("inf"))
    sign, digits = "≥" if at_least else "≤", 1 if value >= 10 else 2
    print(f"{name:44} {value:>12,.{digits}f}   budget {sign} {budget:>9,.1f}   ratio {ratio:6.2f}", flush=True)
    return {"name": name, "figure": round(value, 3), "budget": budget, "at_least": at_least, "ratio": round(ratio, 3) if value else None}


def record_into(path):
    global folder
    path.mkdir(parents=True, exist_ok=True)
    folder = path


def record(bench, store, figures, detail):
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = {"bench": bench, "at": now, "commit": commit(), "machine": machine(), "store": store, "told": sys.argv[1:], "figures": figures,
            "detail": detail}
    with open(folder / f"{bench}.jsonl", "a") as out:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


# ---- comparing

def runs_in(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def runs_of(what):
    """What `what` names: all runs in a file, or those of a commit, which may have had changes that were not committed."""
    if pathlib.Path(what).is_file():
        return runs_in(what)
    name = git("rev-parse", "--verify", "--quiet", "--short=12", f"{what}^{{commit}}") or what
    found = [run for path in sorted(RESULTS.glob("*.jsonl")) for run in runs_in(path) if run["commit"].startswith(name)]
    if not found:
        raise Wrong(f"{what} is neither a file nor a commit with a run in {RESULTS.relative_to(ROOT)}/")
    return found


def newest(runs):
    """The newest run of each bench on each store."""
    return {(run["bench"], run["store"]): run for run in sorted(runs, key=lambda run: run["at"])}


COSTS = ("_us", "_mib", "_percent", "_s")


def costs(detail, before="", all_of_it=False):
    """The CPU, memory and times that are noted beside the figures, by name; what is less than a tenth is noise."""
    found = {}
    for key, value in detail.items():
        if isinstance(value, dict) and "p50_us" not in value:  # latencies that matter are figures
            found.update(costs(value, f"{before}{key} ", key.endswith(COSTS)))
        elif isinstance(value, (int, float)) and (all_of_it or key.endswith(COSTS)) and value >= 0.1:
            found[before + key] = value
    return found


def compare_line(name, one, two, better):
    ratio = two / one if one else float("inf")
    words = "" if better is None or one == two else "  better" if (two > one) == better else "  worse"
    print(f"  {name:56} {one:>12,.2f} {two:>12,.2f}   × {ratio:.2f}{words}")


def compare(one, two):
    """What both have run, side by side; the ratio is B ÷ A."""
    sides = newest(runs_of(one)), newest(runs_of(two))
    both = [key for key in sides[0] if key in sides[1]]
    if not both:
        raise Wrong(f"{one} and {two} have no bench in common")
    for key in both:
        a, b = sides[0][key], sides[1][key]
        print(f"{key[0]}, {key[1]}: {a['commit']} ({a['at']}) and {b['commit']} ({b['at']})")
        if a.get("told") != b.get("told"):
            print(f"  not told the same: {' '.join(a.get('told', ['?']))}; {' '.join(b.get('told', ['?']))}")
        if a["machine"] != b["machine"]:
            print("  not on the same machine")
        figures = {row["name"]: row for row in a["figures"]}
        for row in b["figures"]:
            if row["name"] in figures:
                compare_line(row["name"], figures[row["name"]]["figure"], row["figure"], row.get("at_least"))
        one_costs, two_costs = costs(a["detail"]), costs(b["detail"])
        for name, value in two_costs.items():
            if name in one_costs:
                compare_line(name, one_costs[name], value, None)
    for side, other, name in [(*sides, one), (*reversed(sides), two)]:
        lonely = [" on ".join(key) for key in side if key not in other]
        if lonely:
            print(f"only of {name}: {', '.join(lonely)}")
