"""Measures rota against its budgets: life, late, submit, kill.

Starts the target, a release build of rota and the load generator on this machine's cores, takes CPU from /proc, prints one line
a figure, and appends what it saw to bench/results/NAME.jsonl. A figure below its budget is reported, not failed: this is no
timed test. It fails when the run itself was wrong: a task lost, refused or called early.
"""

import argparse
import os
import subprocess
import sys
import time

from parts import ROOT, STORES, TREE, Load, Wrong, cpu_between, figure, record, running

WARM_SECONDS = 3


def look(target, rota, store, load):
    stats = rota.stats()
    return {"time": time.monotonic(), "done": stats["states"].get("success", 0), "pending": stats["pending"], "calls": target.stats()["calls"],
            "rota_us": rota.cpu_us(), "target_us": target.cpu_us(), "load_us": load.cpu_us(), "threads": rota.threads_us(),
            "postgres": store.cpu_us()}


def check_all_ran(target, rota, load_result):
    stats, calls = rota.drain(), target.stats()["calls"]
    done, wanted = stats["states"].get("success", 0), load_result["acknowledged"]
    if done != wanted or calls < wanted:
        raise Wrong(f"{wanted} tasks were acknowledged, {done} succeeded, {calls} calls reached the target: {stats['states']}")
    return calls - wanted


def life(options):
    with running(options.store) as (target, rota, store):
        load = Load(rota, "--url", target.url, "--connections", 8, "--bulk", options.bulk, "--pending", options.pending,
                    "--seconds", WARM_SECONDS + options.seconds + 2)
        time.sleep(WARM_SECONDS)
        before = look(target, rota, store, load)
        time.sleep(options.seconds)
        after = look(target, rota, store, load)
        result = load.result()
        extra = check_all_ran(target, rota, result)
        memory = rota.memory_peak_mib()
    done, seconds = after["done"] - before["done"], after["time"] - before["time"]
    if done <= 0:
        raise Wrong("no task was done within the window")

    def each(key):
        return (after[key] - before[key]) / done

    def each_of(key):
        return {name: round(us / done, 2) for name, us in cpu_between(before[key], after[key]).items()}

    def words(parts):
        return ", ".join(f"{name} {us}" for name, us in sorted(parts.items(), key=lambda row: -row[1]) if us > 0)

    threads, processes = each_of("threads"), each_of("postgres")
    database = sum(processes.values())
    figures = [figure("life: tasks/s", done / seconds, 23148, True)]
    if options.store == "postgres":
        figures.append(figure("life: rota + PostgreSQL CPU µs/task", each("rota_us") + database, 60, False))
        print(f"  CPU µs/task: PostgreSQL {database:.1f}: {words(processes)}")
    else:
        figures.append(figure("life: rota CPU µs/task", each("rota_us"), 45, False))
    print(f"  CPU µs/task: rota {each('rota_us'):.1f}: {words(threads)}")
    print(f"  CPU µs/task: target {each('target_us'):.1f}, generator {each('load_us'):.1f}")
    print(f"  {seconds:.0f} s, {result['acknowledged']:,} tasks, {extra} calls too many, submit p99 {result['p99_us'] / 1000:.1f} ms, peak {memory} MiB")
    record("life", options.store, figures, {
        "seconds": seconds, "bulk": options.bulk, "pending": options.pending, "rota_us": each("rota_us"), "threads_us": threads,
        "postgres_us": processes, "target_us": each("target_us"), "load_us": each("load_us"), "extra_calls": extra,
        "memory_peak_mib": memory, "load": result})


def late(options):
    with running(options.store, "--late") as (target, rota, _):
        load = Load(rota, "--url", target.url, "--connections", 8, "--rate", 1000, "--seconds", options.late_seconds,
                    "--spread-from", 2000, "--spread-to", 10000)
        result = load.result()
        check_all_ran(target, rota, result)
        seen = target.stats()
    if seen["early"] or seen["unmarked"]:
        raise Wrong(f"{seen['early']} calls came early, by up to {seen['early_max_us']} µs; {seen['unmarked']} had no Rota-Scheduled-At")
    figures = [figure("late: p50 ms", seen["p50_us"] / 1000, 1, False), figure("late: p99 ms", seen["p99_us"] / 1000, 5, False)]
    print(f"  {seen['count']:,} calls, p90 {seen['p90_us'] / 1000} ms, p99.9 {seen['p999_us'] / 1000} ms, max {seen['max_us'] / 1000} ms, none early")
    record("late", options.store, figures, {"target": seen, "load": result})


def submit(options):
    figures, detail = [], {}
    for name, bulk, connections, budget in [("bulk", options.bulk, 8, 80000), ("one by one, 64 connections", 0, 64, 50000)]:
        with running(options.store) as (target, rota, store):
            before, before_store = rota.cpu_us(), store.cpu_us()
            # Planned for later, so that nothing but the submit is measured.
            result = Load(rota, "--url", target.url, "--connections", connections, "--bulk", bulk, "--in", "1h", "--seconds", options.submit_seconds).result()
            tasks = max(1, result["acknowledged"])
            cpu, database = (rota.cpu_us() - before) / tasks, sum(cpu_between(before_store, store.cpu_us()).values()) / tasks
            if rota.stats()["pending"] != result["acknowledged"]:
                raise Wrong(f"{result['acknowledged']} tasks were acknowledged, {rota.stats()['pending']} are pending")
        figures.append(figure(f"submit: {name}, /s", result["per_s"], budget, True))
        print(f"  rota {cpu:.1f} µs/task, PostgreSQL {database:.1f}, p50 {result['p50_us'] / 1000} ms, p99 {result['p99_us'] / 1000} ms")
        detail[name] = {"rota_us": cpu, "postgres_us": database, "load": result}
    record("submit", options.store, figures, detail)


def kill(options):
    env = dict(os.environ, ROTA_BIN=str(TREE / "src" / "rota"), ROTA_KILL_ROUNDS=str(options.rounds), ROTA_TEST_DIR=str(TREE / "scratch"))
    command = ["/usr/bin/python3", "-m", "pytest", "tests/e2e/test_kill.py", "-q", "-s", "-p", "no:cacheprovider", "--timeout=0"]
    code = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode
    record("kill", "sqlite", [{"name": "kill: rounds", "figure": options.rounds, "passed": code == 0}], {})
    if code:
        raise Wrong(f"the ledger checker found something in {options.rounds} rounds of SIGKILL")


BENCHES = {"life": life, "late": late, "submit": submit, "kill": kill}
DEFAULT = ["life", "late", "submit"]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(BENCHES)}; default: {' '.join(DEFAULT)}")
    parser.add_argument("--store", choices=STORES, default="sqlite", help="life, late, submit, growth (sqlite)")
    parser.add_argument("--seconds", type=int, default=60, help="life: the measured window")
    parser.add_argument("--bulk", type=int, default=500, help="life, submit: tasks in one request")
    parser.add_argument("--pending", type=int, default=20000, help="life: the generator waits while rota has so many jobs pending")
    parser.add_argument("--late-seconds", type=int, default=20)
    parser.add_argument("--submit-seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100, help="kill")
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {' '.join(unknown)}")
    for name in options.names or DEFAULT:
        try:
            BENCHES[name](options)
        except (Wrong, OSError) as wrong:  # OSError: rota went away while it was asked
            sys.exit(f"{name}: {wrong}")


if __name__ == "__main__":
    main()
