"""Counts the instructions a task costs, part by part, and compares them with those that were recorded; and those that requests
cost with those of requests four times as large, so that none costs more than n log n of its bytes.

guard.py [--renew] [TREE]    TREE is build-test; --renew writes down what was counted, instead of comparing

Counts do not depend on how busy the machine is, so what costs much more than it did shows here, as long as it is computed and not
waited for. More than MARGIN is a failure. So is much less: then what was recorded guards nothing any more, and is to be renewed.
Prints a line for each part that fails (for each with --renew), then `N passed, M failed`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = pathlib.Path(__file__).with_name("recorded.json")
MARGIN = 1.25
RENEW = "If it is meant to be so: ./dev guard --renew, and commit tests/guard/recorded.json with the reason."
SCENARIOS = ["submit", "store", "life", "call"]
GROWTH_MAX = 5.5  # times as many instructions for four times the bytes: n log n is less, n * n is 16
LIBRARIES = ["sqlite3", "libcares"]  # their instructions are among those counted


class Broken(Exception):
    """The scenario itself did not work."""


def parts(command, scratch):
    """What callgrind counted, by the name of the part and what it was about."""
    with tempfile.TemporaryDirectory(prefix="guard-", dir=scratch) as folder:
        (pathlib.Path(folder) / "data").mkdir()
        counted = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p", *command, f"{folder}/data"]
        # A crash point looks for its variable: with another environment that would be another count.
        done = subprocess.run(counted, stdin=subprocess.DEVNULL, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        if done.returncode:
            raise Broken(f"{command}: ended with {done.returncode}\n{done.stderr}")
        found = {}
        for path in sorted(pathlib.Path(folder).glob("out.*.*")):  # one for each part
            text = path.read_text(errors="replace")
            part = re.search(r"^desc: Trigger: Client Request: (\w+) (\d+)$", text, re.M)
            total = re.search(r"^totals: (\d+)$", text, re.M)
            if part and total:
                found[part[1], int(part[2])] = int(total[1])
    if not found:
        raise Broken(f"{command}: callgrind counted nothing\n{done.stderr}")
    return found


def count(program, scenario, scratch):
    """Instructions a task, by part."""
    return {f"{scenario}: {name}": round(total / tasks) for (name, tasks), total in parts([program, scenario], scratch).items()}


def growth(program, scratch):
    """Words for each request that costs far more than four times as much when it is four times as large, and how many were tried."""
    sizes = {}
    for (name, size), total in parts([program], scratch).items():
        sizes.setdefault(name, {})[size] = total
    failures = []
    for name, totals in sorted(sizes.items()):
        few, many = totals[min(totals)], totals[max(totals)]
        if len(totals) != 2:
            failures.append(f"growth: {name} was not asked in two sizes")
        elif many > few * GROWTH_MAX:
            failures.append(f"growth: {name} costs {few:,} instructions for {min(totals)} bytes, and {many / few:.1f} times as many for {max(totals)}")
    return failures, len(sizes)


def versions():
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return {"gcc": said("gcc", "-dumpfullversion"), **{name: said("pkg-config", "--modversion", name) for name in LIBRARIES}}


def judge(part, now, recorded):
    """None: it is as it was; else words."""
    if recorded is None:
        return f"{part}: {now:,} instructions a task, and nothing was recorded"
    percent = f"{abs(now / recorded - 1):.0%}"
    if now > recorded * MARGIN:
        return f"{part}: {now:,} instructions a task, {percent} more than the {recorded:,} that were recorded"
    if now < recorded / MARGIN:
        return f"{part}: {now:,} instructions a task, {percent} fewer than the {recorded:,} that were recorded, which guard nothing any more"
    return None


def compare(counts, grown, tried):
    recorded = json.loads(RECORDED.read_text())
    compared = sorted({*counts, *recorded["instructions"]})
    failures = []
    for part in compared:
        found = judge(part, counts[part], recorded["instructions"].get(part)) if part in counts else f"{part}: was recorded, and is not counted"
        if found:
            failures.append(found)
    print("".join(f"{line}\n" for line in failures), end="")
    if failures:
        there = versions()
        other = [f"{name} {there[name]} instead of {was}" for name, was in recorded["with"].items() if there.get(name) != was]
        print(f"(with {', '.join(other)})" if other else "(compiler and libraries are those it was recorded with)")
        print(RENEW)
    print("".join(f"{line}\n" for line in grown), end="")
    failed = len(failures) + len(grown)
    print(f"{len(compared) + tried - failed} passed, {failed} failed")
    return not failed


def renew(counts):
    before = json.loads(RECORDED.read_text())["instructions"] if RECORDED.exists() else {}
    for part, now in counts.items():
        print(f"{part:16} {now:>8,} instructions a task" + (f", {now / before[part] - 1:+.1%}" if part in before else ""))
    RECORDED.write_text(json.dumps({"with": versions(), "instructions": counts}, indent=2) + "\n")


def main():
    words = sys.argv[1:]
    renewing = "--renew" in words
    tree = ROOT / next((word for word in words if word != "--renew"), "build-test")
    scratch = pathlib.Path(os.environ.get("ROTA_TEST_DIR", tree))
    counts = {}
    try:
        for scenario in SCENARIOS:
            counts.update(count(tree / "tests" / "guard" / "guard", scenario, scratch))
        grown, tried = growth(tree / "tests" / "guard" / "growth", scratch) if not renewing else ([], 0)
    except Broken as broken:
        print(f"{broken}\n0 passed, 1 failed")
        sys.exit(1)
    if renewing:
        renew(counts)
    elif not compare(counts, grown, tried):
        sys.exit(1)


if __name__ == "__main__":
    main()
