"""Counts the instructions a task costs, part by part, and compares them with those that were recorded.

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
LIBRARIES = ["sqlite3", "libcares"]  # their instructions are among those counted


class Broken(Exception):
    """The scenario itself did not work."""


def count(program, scenario, scratch):
    """Instructions a task, by part."""
    with tempfile.TemporaryDirectory(prefix="guard-", dir=scratch) as folder:
        (pathlib.Path(folder) / "data").mkdir()
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p", program, scenario, f"{folder}/data"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"{scenario}: ended with {done.returncode}\n{done.stderr}")
        found = {}
        for path in sorted(pathlib.Path(folder).glob("out.*.*")):  # one for each part
            text = path.read_text(errors="replace")
            part = re.search(r"^desc: Trigger: Client Request: (\w+) (\d+)$", text, re.M)
            total = re.search(r"^totals: (\d+)$", text, re.M)
            if part and total:
                found[f"{scenario}: {part[1]}"] = round(int(total[1]) / int(part[2]))
    if not found:
        raise Broken(f"{scenario}: callgrind counted nothing\n{done.stderr}")
    return found


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


def compare(counts):
    recorded = json.loads(RECORDED.read_text())
    parts = sorted({*counts, *recorded["instructions"]})
    failures = []
    for part in parts:
        found = judge(part, counts[part], recorded["instructions"].get(part)) if part in counts else f"{part}: was recorded, and is not counted"
        if found:
            failures.append(found)
    print("".join(f"{line}\n" for line in failures), end="")
    if failures:
        there = versions()
        other = [f"{name} {there[name]} instead of {was}" for name, was in recorded["with"].items() if there.get(name) != was]
        print(f"(with {', '.join(other)})" if other else "(compiler and libraries are those it was recorded with)")
        print(RENEW)
    print(f"{len(parts) - len(failures)} passed, {len(failures)} failed")
    return not failures


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
    except Broken as broken:
        print(f"{broken}\n0 passed, 1 failed")
        sys.exit(1)
    if renewing:
        renew(counts)
    elif not compare(counts):
        sys.exit(1)


if __name__ == "__main__":
    main()
