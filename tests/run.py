"""Runs the suites for ./dev test and adds them up.

run.py [SUITE…] [-k TEXT] [PYTEST OPTION…]   runs them; the last line is `N passed, M failed, K skipped`
run.py --trees [SUITE…]                      only says which build trees they need

A suite that passes is one line; one that fails shows its output. Each single test counts: programs of cmocka say TAP, pytest
writes JUnit XML, scripts end with `N passed, M failed`. A program that dies counts as a failed test, and so does every report
a sanitizer leaves, whoever may have looked away from an exit code; a suite in which nothing ran has failed.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's pytest

Suite = collections.namedtuple("Suite", "name tree kind what")

# Of no interest to a search for races: what one thread refuses, and the command line, which has one. And libfaketime hides from
# ThreadSanitizer that a wait with a time limit lets go of its mutex, which it then takes for a double lock.
LEFT_OUT = [f"--ignore-glob=*/test_{name}*.py" for name in ("bad_", "cli", "completion", "clock")]

# kind: programs (a suite of meson's), script, or pytest. In order: what is quick and tells most comes first.
SUITES = [
    Suite("layers", "build-test", "script", ["tests/unit/check_layers.py", "build-test"]),
    Suite("docs", "build-test", "script", ["tests/docs/check_docs.py"]),
    Suite("unit", "build-test", "programs", "unit"),
    Suite("guard", "build-test", "script", ["tests/guard/guard.py", "build-test"]),
    Suite("contract", "build-test", "programs", "contract"),
    Suite("sim", "build-test", "programs", "sim"),
    Suite("e2e", "build-test", "pytest", ["tests/e2e", "tests/support"]),
    Suite("asan-unit", "build-asan", "programs", "unit"),
    Suite("asan-contract", "build-asan", "programs", "contract"),
    Suite("asan-sim", "build-asan", "programs", "sim"),
    Suite("asan-e2e", "build-asan", "pytest", ["tests/e2e"]),
    Suite("tsan-contract", "build-tsan", "programs", "contract"),
    Suite("tsan-e2e", "build-tsan", "pytest", ["tests/e2e", *LEFT_OUT]),
]

# What differs between the stores is the store's own code, and the contract suites run that under both sanitizers. So end to end
# each sanitizer takes one of them.
STORES = {"asan-e2e": "sqlite", "tsan-e2e": "postgres"}

# Sanitizers stop at the first report and write it to a file, where this script finds it.
SANITIZERS = {
    "build-asan": {"ASAN_OPTIONS": "halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1",
                   "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"},
    "build-tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
}
SLOWER = {"build-asan": 4, "build-tsan": 8}  # how much longer a program may take than meson.build says
SUITE_SECONDS_MAX = 1200
WORKERS = 3 * (os.cpu_count() or 1)  # of pytest: an end-to-end test mostly waits


class Tally:
    def __init__(self, passed=0, failed=0, skipped=0, text=""):
        self.passed, self.failed, self.skipped, self.text = passed, failed, skipped, text

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.text += other.text

    def counts(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


RUNNING = set()  # process groups


def stop(number, frame):
    """Ctrl-C: everything that was started ends with us, and at once."""
    for group in list(RUNNING):
        os.killpg(group, signal.SIGKILL)
    os._exit(128 + number)


def run(command, env, seconds):
    """Exit code (None: it took too long and was killed with all it had started) and output."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    RUNNING.add(process.pid)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0].decode(errors="replace") + f"\nkilled: not done after {seconds} s\n"
    finally:
        RUNNING.discard(process.pid)


def environment(suite):
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1")
    if suite.tree:
        env["ROTA_CRASH_POINTS"] = "1"  # every tree the tests use has them
        env["ROTA_BIN"] = str(ROOT / suite.tree / "src" / "rota")
        scratch = ROOT / suite.tree / "scratch"
        scratch.mkdir(exist_ok=True)
        env["ROTA_TEST_DIR"] = str(scratch)
    if suite.name in STORES:
        env["ROTA_TEST_STORES"] = STORES[suite.name]
    for name, options in SANITIZERS.get(suite.tree, {}).items():
        env[name] = f"{options}:log_path={reports_dir(suite)}/report"
        suppressions = ROOT / "tests" / "support" / (name.split("_")[0].lower() + ".supp")
        if suppressions.exists():
            env[name] += f":suppressions={suppressions}"
    return env


def without_aslr(suite):
    """gcc 12's sanitizers cannot place their shadow when the kernel scatters mappings over more than 28 bits."""
    try:
        bits = int(pathlib.Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except OSError:
        return []
    calm = ["setarch", "--addr-no-randomize"]
    wanted = suite.tree in SANITIZERS and bits > 28 and shutil.which("setarch")
    return calm if wanted and subprocess.run(calm + ["true"], stderr=subprocess.DEVNULL).returncode == 0 else []


def reports_dir(suite):
    return ROOT / suite.tree / "reports" / suite.name


def reports_clear(suite):
    if suite.tree in SANITIZERS:
        shutil.rmtree(reports_dir(suite), ignore_errors=True)
        reports_dir(suite).mkdir(parents=True)


def reports_count(suite):
    if suite.tree not in SANITIZERS:
        return Tally()
    reports = sorted(reports_dir(suite).iterdir())
    return Tally(failed=len(reports), text="".join(f"\n{path.name}:\n{path.read_text(errors='replace')}" for path in reports))


def count_lines(output):
    """Counts TAP and lines `N passed, M failed`; None when there is neither."""
    planned = sum(int(n) for n in re.findall(r"^1\.\.(\d+)", output, re.M))
    skipped = len(re.findall(r"^(?:not )?ok\b[^\n]*# SKIP", output, re.M))
    passed = len(re.findall(r"^ok\b(?![^\n]*# SKIP)", output, re.M))
    failed = len(re.findall(r"^not ok\b(?![^\n]*# SKIP)", output, re.M))
    if planned or passed or failed or skipped:
        return Tally(passed, failed + max(0, planned - passed - failed - skipped), skipped)
    sums = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", output, re.M)
    return Tally(*(sum(int(row[i] or 0) for row in sums) for i in range(3))) if sums else None


def count_program(name, code, output):
    # A program that does not count its tests is one test.
    tally = count_lines(output) or Tally(passed=1 if code == 0 else 0)
    if code != 0 and not tally.failed:
        tally.failed += 1
    if tally.failed:
        tally.text = f"\n{name} (exit {code}):\n{output}"
    return tally


def run_programs(suite, env, options):
    listed = subprocess.run(["meson", "introspect", "--tests", suite.tree], cwd=ROOT, check=True, capture_output=True, text=True)
    tests = [test for test in json.loads(listed.stdout) if any(s.split(":")[-1] == suite.what for s in test["suite"])]
    if "-k" in options:
        tests = [test for test in tests if options[options.index("-k") + 1] in test["name"]]

    def one(test):
        seconds = (test["timeout"] or 600) * SLOWER.get(suite.tree, 1)
        return count_program(test["name"], *run(without_aslr(suite) + test["cmd"], {**env, **test["env"]}, seconds))

    total = Tally()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for tally in pool.map(one, tests):
            total.add(tally)
    return total


def run_script(suite, env, options):
    return count_program(suite.name, *run([PYTHON, *suite.what], env, SUITE_SECONDS_MAX))


def run_pytest(suite, env, options):
    paths = [path for path in suite.what if (ROOT / path).is_dir()]
    if not paths:
        return Tally()
    xml_path = ROOT / suite.tree / f"{suite.name}.xml"
    xml_path.unlink(missing_ok=True)
    command = [PYTHON, "-m", "pytest", *paths, "-n", str(WORKERS), "-q", "-p", "no:cacheprovider", f"--junitxml={xml_path}"]
    command += [word for word in suite.what if word.startswith("--")] + options
    code, output = run(without_aslr(suite) + command, env, SUITE_SECONDS_MAX)
    tally = count_junit(xml_path)
    if code != 0 and not tally.failed:
        tally.failed = 1
    tally.text = output if tally.failed else ""
    return tally


def count_junit(path):
    if not path.exists():
        return Tally()
    total = Tally()
    for node in xml.etree.ElementTree.parse(path).iter("testsuite"):
        tests, skipped = int(node.get("tests")), int(node.get("skipped"))
        failed = int(node.get("failures")) + int(node.get("errors"))
        total.add(Tally(max(0, tests - failed - skipped), failed, skipped))
    return total


RUNNERS = {"programs": run_programs, "script": run_script, "pytest": run_pytest}


def run_suite(suite, options):
    began = time.monotonic()
    reports_clear(suite)
    tally = RUNNERS[suite.kind](suite, environment(suite), options)
    tally.add(reports_count(suite))
    if not tally.passed and not tally.failed:
        tally.add(Tally(failed=1, text=f"{suite.name}: no test ran\n"))
    if tally.failed:
        print(tally.text.rstrip())
    print(f"{suite.name:14} {tally.counts()}  ({time.monotonic() - began:.0f} s)", flush=True)
    return tally


def split(args):
    """Names up to the first option; `--` may stand between them."""
    at = next((i for i, arg in enumerate(args) if arg.startswith("-")), len(args))
    options = args[at:]
    return args[:at], options[1:] if options[:1] == ["--"] else options


def choose(names):
    """A name is a suite, or a sanitizer for all suites under it."""
    chosen = []
    for name in names:
        found = [suite for suite in SUITES if suite.name == name or suite.name.startswith(name + "-")]
        if not found:
            sys.exit(f"there is no suite {name}; there are: {' '.join(suite.name for suite in SUITES)} asan tsan")
        chosen += found
    return [suite for suite in SUITES if suite in chosen] if names else SUITES


def main():
    args = sys.argv[1:]
    only_trees = args[:1] == ["--trees"]
    names, options = split(args[only_trees:])
    suites = choose(names)
    if only_trees:
        print("\n".join(dict.fromkeys(suite.tree for suite in suites if suite.tree)))
        return
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    total = Tally()
    for suite in suites:
        total.add(run_suite(suite, options))
    print(total.counts())
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
