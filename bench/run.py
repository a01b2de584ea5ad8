"""Measures rota against its budgets; ./dev bench --help has the names.

Starts the target, a release build of rota and the load generator on this machine's cores, takes CPU from /proc, prints one line
a figure, and appends what it saw to bench/results/NAME.jsonl. A figure below its budget is reported, not failed: this is no
timed test. It fails when the run itself was wrong: a task lost, refused or called early.
"""

import argparse
import collections
import pathlib
import signal
import sys

import faults
import port
import rest
import schedules
import watching
import whole
from parts import STORES, Wrong
from report import RESULTS, compare, record_into

# words: how long it takes as it is by default, and what it needs; said before those that take a minute or more. store: the only one
# it is about.
Bench = collections.namedtuple("Bench", "run by_default words store", defaults=[None])

BENCHES = {
    "life": Bench(whole.life, True, "a minute"),
    "half": Bench(whole.half, True, ""),
    "burst": Bench(whole.burst, True, "4 minutes"),
    "late": Bench(whole.late, True, ""),
    "submit": Bench(whole.submit, True, ""),
    "idle": Bench(rest.idle, True, ""),
    "memory": Bench(rest.memory, True, "3 to 6 minutes, and 10 GB of disk"),
    "lanes": Bench(whole.lanes, True, "3 minutes"),
    "growth": Bench(port.growth, True, "6 to 9 minutes, and 10 GB of disk"),
    "list": Bench(watching.lists, False, "5 minutes, and 10 GB of disk"),
    "events": Bench(watching.events, False, "a minute"),
    "recurring": Bench(schedules.recurring, False, "8 minutes, and 5 GB of disk"),
    "snapshot": Bench(port.snapshot, False, "16 minutes", "postgres"),
    "reads": Bench(port.reads, False, "4 minutes", "postgres"),
    "kill": Bench(faults.kill, False, "10 minutes", "sqlite"),
    "faults": Bench(faults.faults, False, "3 minutes", "postgres"),
}
DEFAULT = [name for name, bench in BENCHES.items() if bench.by_default]


def options_read():
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measures rota against its budgets: bench/README.md.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"of {' '.join(BENCHES)}; without any: {' '.join(DEFAULT)}, which takes 20 minutes")
    parser.add_argument("--store", choices=STORES, default="sqlite",
                        help="what rota runs on (sqlite); snapshot, reads and faults: always postgres; kill: always sqlite")
    parser.add_argument("--seconds", type=int, help="life, recurring (60), half (30), idle (30), late, lanes, events (20), submit (10), snapshot (600)")
    parser.add_argument("--bulk", type=int, default=500, help="tasks in one request; growth: jobs in one batch (500)")
    parser.add_argument("--pending", type=int, default=20000, help="life: the generator waits while rota has so many jobs pending (20000)")
    parser.add_argument("--planned", default="10000,1000000,10000000", help="growth: how many jobs are planned, step by step; memory, list: the largest")
    parser.add_argument("--jobs", type=int, default=whole.BURST_JOBS, help="burst: planned for one instant (1388889)")
    parser.add_argument("--lead", type=float, help="burst: how far ahead that is, in seconds (long enough for 12,000 submits a second)")
    parser.add_argument("--lanes", type=int, default=100000, help="lanes: how many (100000)")
    parser.add_argument("--schedules", type=int, default=1000000, help="recurring: how many (1000000)")
    parser.add_argument("--every", type=int, default=60, help="recurring: seconds from one run of a schedule to the next (60)")
    parser.add_argument("--rounds", type=int, help="kill (100), reads (3)")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, metavar="FOLDER",
                        help="where the runs are written down (bench/results); another one for what is only tried")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"),
                        help="measures nothing: the newest run of each bench of two commits, or in two files, side by side")
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {' '.join(unknown)}")
    return options


def main():
    options = options_read()
    if options.compare:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads only its beginning is no error
        try:
            compare(*options.compare)
        except Wrong as wrong:
            sys.exit(f"compare: {wrong}")
        return
    record_into(options.results)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))  # so that what was started is stopped
    failed = []
    for name in options.names or DEFAULT:
        words = f" (unless it is told otherwise, that takes {BENCHES[name].words})" if BENCHES[name].words else ""
        print(f"{name} on {BENCHES[name].store or options.store}{words}", flush=True)
        try:
            BENCHES[name].run(options)
        except (Wrong, OSError) as wrong:  # OSError: rota went away while it was asked
            print(f"{name}: {wrong}", file=sys.stderr)
            failed.append(name)
    if failed:
        sys.exit(f"not measured: {' '.join(failed)}")


if __name__ == "__main__":
    main()
