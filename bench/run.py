"""Measures rota against its budgets: life, late, submit, growth, list, snapshot, reads, events, kill, faults.

Starts the target, a release build of rota and the load generator on this machine's cores, takes CPU from /proc, prints one line
a figure, and appends what it saw to bench/results/NAME.jsonl. A figure below its budget is reported, not failed: this is no
timed test. It fails when the run itself was wrong: a task lost, refused or called early.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from parts import ROOT, STORES, TREE, Listeners, Load, Port, Rota, Session, Wrong, ask, closing, cpu_between, figure, record, running, store_running

WARM_SECONDS = 3


def ms(us):
    return f"{us / 1000:.2f} ms"


def look(target, rota, store, load):
    stats = rota.stats()
    return {"time": time.monotonic(), "done": stats["states"].get("success", 0), "pending": stats["pending"],
            "calls": target.stats()["calls"], "rota_us": rota.cpu_us(), "target_us": target.cpu_us(), "load_us": load.cpu_us(), "threads": rota.threads_us(),
            "postgres": store.cpu_us()}


def check_all_ran(target, rota, load_result):
    stats, calls = rota.drain(), target.stats()["calls"]
    done, wanted = stats["states"].get("success", 0), load_result["acknowledged"]
    if done != wanted or calls < wanted:
        raise Wrong(f"{wanted} tasks were acknowledged, {done} succeeded, {calls} calls reached the target: {stats['states']}")
    return calls - wanted


def life(options):
    window = options.seconds or 60
    with running(options.store) as (target, rota, store):
        load = Load(rota, "--url", target.url, "--connections", 8, "--bulk", options.bulk, "--pending", options.pending,
                    "--seconds", WARM_SECONDS + window + 2)
        time.sleep(WARM_SECONDS)
        before = look(target, rota, store, load)
        time.sleep(window)
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
    print(f"  {seconds:.0f} s, {result['acknowledged']:,} tasks, {extra} calls too many, submit p99 {ms(result['p99_us'])}, peak {memory} MiB")
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
    print(f"  {seen['count']:,} calls, p90 {ms(seen['p90_us'])}, p99.9 {ms(seen['p999_us'])}, max {ms(seen['max_us'])}, none early")
    record("late", options.store, figures, {"target": seen, "load": result})


def submit(options):
    figures, detail = [], {}
    for name, bulk, connections, budget in [("bulk", options.bulk, 8, 80000), ("one by one, 64 connections", 0, 64, 50000)]:
        with running(options.store) as (target, rota, store):
            before, before_store = rota.cpu_us(), store.cpu_us()
            # Planned for later, so that nothing but the submit is measured.
            result = Load(rota, "--url", target.url, "--connections", connections, "--bulk", bulk, "--in", "1h",
                          "--seconds", options.submit_seconds).result()
            tasks = max(1, result["acknowledged"])
            cpu, database = (rota.cpu_us() - before) / tasks, sum(cpu_between(before_store, store.cpu_us()).values()) / tasks
            if rota.stats()["pending"] != result["acknowledged"]:
                raise Wrong(f"{result['acknowledged']} tasks were acknowledged, {rota.stats()['pending']} are pending")
        figures.append(figure(f"submit: {name}, /s", result["per_s"], budget, True))
        print(f"  rota {cpu:.1f} µs/task, PostgreSQL {database:.1f}, p50 {ms(result['p50_us'])}, p99 {ms(result['p99_us'])}")
        detail[name] = {"rota_us": cpu, "postgres_us": database, "load": result}
    record("submit", options.store, figures, detail)


# ---- the store's port alone

GROWTH_JOBS, GROWTH_ROUNDS = 10000, 10


def measured(port, store, *words):
    """A command's answer, with the CPU of its backends and of all else in the database for each job."""
    before = store.cpu_us()
    answer = port.ask(*words)
    used = cpu_between(before, store.cpu_us())
    count = max(1, answer["count"])
    backends = used.pop("backends", 0) / count
    return {**answer, "rota_us": answer["cpu_us"] / count, "backends_us": backends, "behind_us": sum(used.values()) / count}


def vacuum(store):
    """Its CPU in µs."""
    before = store.cpu_us()
    store.vacuum()
    return sum(cpu_between(before, store.cpu_us()).values())


# What is done in a round, by its name. Jobs that were planned long ago lie scattered among all others when they are claimed; jobs
# that were submitted shortly before lie side by side.
GROWTH_PARTS = {
    "add": ["plan", GROWTH_JOBS], "claim, scattered": ["claim", GROWTH_JOBS], "finish, scattered": ["finish"],
    "add, due soon": ["soon", GROWTH_JOBS], "claim": ["claim", GROWTH_JOBS], "finish": ["finish"],
    "push": ["hold", GROWTH_JOBS], "finish, pushed": ["finish"]}
GROWTH_FIGURES = ["claim", "finish", "claim, scattered", "finish, scattered"]


def growth_step(options, port, store, planned, more):
    filled = port.ask("plan", more)
    vacuum(store)  # autovacuum would meet some steps and not others; so each begins clean, and pays for itself at its end
    rounds = {part: [] for part in GROWTH_PARTS}
    for _ in range(GROWTH_ROUNDS):
        for part, answers in rounds.items():
            answers.append(measured(port, store, *GROWTH_PARTS[part]))
    step = {"planned": planned, "filled_s": filled["seconds"], "vacuum_us": vacuum(store) / (3 * GROWTH_JOBS * GROWTH_ROUNDS)}
    for part, answers in rounds.items():
        costs = [answer["rota_us"] + answer["backends_us"] for answer in answers]
        found = {key: statistics.mean(answer[key] for answer in answers) for key in ["rota_us", "backends_us", "behind_us"]}
        # Whoever shares the machine only adds to a round: the quarter that was disturbed least says most.
        found.update(us=statistics.quantiles(costs, n=4)[0], rounds_us=costs,
                     batch_ms=statistics.quantiles([answer["p50_us"] for answer in answers], n=4)[0] / 1000,
                     batch_ms_max=max(answer["max_us"] for answer in answers) / 1000)
        step[part] = found
        print(f"  {planned:>10,} planned: {part:17} {found['us']:5.1f} µs CPU a job (rounds {min(costs):.1f} to {max(costs):.1f};"
              f" on average rota {found['rota_us']:.1f}, backends {found['backends_us']:.1f}; behind them {found['behind_us']:.1f}),"
              f" {found['batch_ms']:.1f} ms a batch of {options.bulk},"
              f" the slowest {found['batch_ms_max']:.0f}", flush=True)
    print(f"  {planned:>10,} planned: vacuum            {step['vacuum_us']:5.1f} µs CPU a job; filled in {filled['seconds']:.0f} s")
    return step


def growth(options):
    sizes = sorted(int(size) for size in options.planned.split(","))
    steps, before = [], 0
    with store_running(options.store) as store, closing(Port(store.url, "--batch", options.bulk)) as port:
        for size in sizes:
            steps.append(growth_step(options, port, store, size, size - before))
            before = size
    figures = []
    for step in steps[1:]:
        for part in GROWTH_FIGURES:
            ratio = step[part]["us"] / steps[0][part]["us"]
            figures.append(figure(f"growth: {part} at {step['planned']:,} ÷ {sizes[0]:,}", ratio, 1.5, False))
    detail = {"batch": options.bulk, "rounds": GROWTH_ROUNDS, "jobs": GROWTH_JOBS, "steps": steps}
    record("growth", options.store, figures, detail)


# In two minutes there are 240 claims: of fewer, a p99 would only be the one that was unlucky.
SNAPSHOT_RATE, SNAPSHOT_PART_S, AFTER_S = 2000, 120, 30


def pace(port, store, seconds):
    part = measured(port, store, "pace", SNAPSHOT_RATE, seconds)
    part["postgres_us"] = part["backends_us"] + part["behind_us"]
    print(f"  {part['count'] / part['seconds']:,.0f} jobs/s, {part['calls'] / part['seconds']:.0f} claims/s: p50 {ms(part['p50_us'])},"
          f" p99 {ms(part['p99_us'])}, p99.9 {ms(part['p999_us'])}, max {ms(part['max_us'])};"
          f" PostgreSQL {part['postgres_us']:.0f} µs CPU a job", flush=True)
    return part


def sustained(part):
    if part["count"] < 0.95 * SNAPSHOT_RATE * part["seconds"]:
        raise Wrong(f"{SNAPSHOT_RATE} jobs/s were not sustained: {part['count'] / part['seconds']:.0f}/s")
    return part


def snapshot(options):
    seconds = options.seconds or 600
    seen = {"rate": SNAPSHOT_RATE, "seconds": seconds, "without": [], "held": [], "after": []}
    figures = []
    try:
        with store_running("postgres") as store, closing(Port(store.url)) as port, closing(Session(store)) as session:
            port.ask("pace", SNAPSHOT_RATE, 10)  # what is added first is claimed from the fourth second on
            for _ in range(2):
                seen["without"].append(sustained(pace(port, store, SNAPSHOT_PART_S)))
            session.sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rota.jobs")
            print(f"  a snapshot is held from here on, for {seconds} s")
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                seen["held"].append(sustained(pace(port, store, SNAPSHOT_PART_S)))
            session.sql("COMMIT")  # which shows that it was there until now
            print("  and is given up")
            time.sleep(60)  # autovacuum looks once a minute
            seen["after"].append(pace(port, store, AFTER_S))
        for name, key in [("p99", "p99_us"), ("p50", "p50_us")]:
            without = statistics.median(part[key] for part in seen["without"])
            figures.append(figure(f"snapshot: claim {name} with ÷ without", seen["held"][-1][key] / without, 2, False))
    except Wrong as wrong:  # that it ended before its time is a result, too
        seen["ended"] = str(wrong)
        raise
    finally:
        record("snapshot", "postgres", figures, seen)


LIST_ROUNDS = 200
LISTS = {"newest 100 jobs": "/v1/jobs?limit=100", "newest 100 tasks": "/v1/tasks?limit=100", "100 that failed": "/v1/jobs?state=aborted&limit=100",
         "a filter that matches nothing": "/v1/jobs?name=nothing&limit=100"}


def lists(options):
    """How long a list takes when there are many jobs. The bytes of the answer are read, nothing is made of them."""
    planned = max(int(size) for size in options.planned.split(","))
    seen, figures = {}, []
    with store_running(options.store) as store:
        with closing(Port(store.url)) as port:
            filled = port.ask("plan", planned)
        vacuum(store)
        with tempfile.TemporaryFile() as log, closing(Rota(store.url, log)) as rota:
            for name, path in LISTS.items():
                before, took = rota.cpu_us(), []
                for _ in range(LIST_ROUNDS):
                    began = time.perf_counter()
                    status, body = ask(rota.port, path)
                    took.append(time.perf_counter() - began)
                if status != 200:
                    raise Wrong(f"{path} was answered with {status}")
                took.sort()
                seen[name] = {"p50_ms": took[LIST_ROUNDS // 2] * 1000, "p99_ms": took[LIST_ROUNDS * 99 // 100] * 1000,
                              "cpu_us": (rota.cpu_us() - before) / LIST_ROUNDS, "items": len(json.loads(body)["items"])}
                print(f"  {name}: p50 {seen[name]['p50_ms']:.2f} ms, p99 {seen[name]['p99_ms']:.2f} ms, rota {seen[name]['cpu_us']:.0f} µs,"
                      f" {seen[name]['items']} items", flush=True)
    figures.append(figure(f"list: newest 100 of {planned:,} jobs, p50 ms", seen["newest 100 jobs"]["p50_ms"], 5, False))
    record("list", options.store, figures, {"planned": planned, "filled_s": filled["seconds"], "lists": seen})


READ_JOBS, READ_RATE, READ_SECONDS, PULLERS = 2000, 500, 20, 2


def machine_busy():
    """Ticks of all cores, and those of them that were not idle."""
    ticks = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
    return sum(ticks), sum(ticks) - ticks[3] - ticks[4]


def read_for(rota, paths, store_url):
    """The latencies of reads while pullers claim there and give back; without a store they are idle."""
    with contextlib.ExitStack() as stack:
        pullers = [stack.enter_context(closing(Port(store_url))) for _ in range(PULLERS if store_url else 0)]
        for puller in pullers:
            puller.send("churn", READ_SECONDS + 2)
        time.sleep(1)
        before = machine_busy()
        result = Load(rota, "--read", paths, "--connections", 4, "--rate", READ_RATE, "--seconds", READ_SECONDS).result()
        after = machine_busy()
        answers = [puller.answer() for puller in pullers]
    return {**result, "claims_s": sum(answer["count"] / answer["seconds"] for answer in answers),
            "busy": (after[1] - before[1]) / (after[0] - before[0])}


def reads(options):
    with running("postgres") as (target, rota, store), tempfile.NamedTemporaryFile("w") as paths:
        tasks = [{"url": target.url, "in": "10h"}] * READ_JOBS
        paths.writelines(f"/v1/jobs/{text.replace('t', 'j', 1)}\n" for text in rota.submit(tasks))
        paths.flush()
        # In another schema the same pullers burn the same CPU and write the same WAL, but lock nothing that is read.
        cases = {"idle": None, "apart": store.url + "&schema=other", "claiming": store.url}
        with closing(Port(cases["apart"])) as port:
            port.ask("plan", READ_JOBS)
        seen = {case: [] for case in cases}
        for _ in range(options.rounds or 3):
            for case, url in cases.items():
                part = read_for(rota, paths.name, url)
                seen[case].append(part)
                print(f"  {case:9} p50 {ms(part['p50_us'])}, p99 {ms(part['p99_us'])}, max {ms(part['max_us'])};"
                      f" {part['claims_s']:,.0f} jobs/s claimed and given back, cores {part['busy']:.0%} busy", flush=True)

    def of(case, key):
        return statistics.median(part[key] for part in seen[case])

    figures = []
    for name, key in [("p50", "p50_us"), ("p99", "p99_us")]:
        figures.append(figure(f"reads: {name} claiming ÷ apart (locks)", of("claiming", key) / of("apart", key), 1.5, False))
        print(f"  {name}: idle {ms(of('idle', key))}, apart {ms(of('apart', key))}, claiming {ms(of('claiming', key))};"
              f" claiming ÷ idle {of('claiming', key) / of('idle', key):.1f}")
    record("reads", "postgres", figures, {"rate": READ_RATE, "jobs": READ_JOBS, "pullers": PULLERS, **seen})


EVENT_CLIENTS, EVENT_RATE, EVENT_SECONDS = 1000, 1000, 20


def events(options):
    """Each job is three events: submitted, started, success."""
    jobs_s, seconds = EVENT_RATE / 3, options.seconds or EVENT_SECONDS
    with running(options.store) as (target, rota, store):
        parts = {}
        for name, clients in [("without", 0), ("idle", EVENT_CLIENTS), ("with", EVENT_CLIENTS)]:
            with Listeners(rota.port, clients) as listeners:
                load = [] if name == "idle" else [Load(rota, "--url", target.url, "--connections", 4, "--rate", round(jobs_s),
                                                       "--seconds", seconds)]
                before, before_threads, began = rota.cpu_us(), rota.threads_us(), time.monotonic()
                time.sleep(seconds)
                used = (rota.cpu_us() - before) / 1e6 / (time.monotonic() - began)
                threads = cpu_between(before_threads, rota.threads_us())
                results = [one.result() for one in load]
                rota.drain()
                told = 3 * sum(result["acknowledged"] for result in results)
                heard = listeners.wait(told)
            parts[name] = {"clients": clients, "cores": used, "told": told, "heard": heard, "threads_us": threads}
            if heard != told * clients:
                raise Wrong(f"{told} events were told to {clients} clients, which heard {heard} of {told * clients}")
            if load and told < 0.9 * EVENT_RATE * seconds:
                raise Wrong(f"{EVENT_RATE} events/s were not sustained: {told / seconds:.0f}/s")
            print(f"  {name:7} {clients:5} clients, {told / seconds:6.0f} events/s: {used:.3f} cores"
                  f" ({', '.join(f'{thread} {us / 1e6 / seconds:.3f}' for thread, us in sorted(threads.items()) if us > 0)})", flush=True)
        memory = rota.memory_peak_mib()
    figures = [figure(f"events: cores, {EVENT_CLIENTS:,} clients at {EVENT_RATE:,} events/s", parts["with"]["cores"], 1, False)]
    print(f"  every client heard every event; peak {memory} MiB")
    record("events", options.store, figures, {"seconds": seconds, "memory_peak_mib": memory, **parts})


# ---- faults: tests of the e2e suite, on the release build

def passes(*words, **env):
    env = dict(os.environ, ROTA_BIN=str(TREE / "src" / "rota"), ROTA_TEST_DIR=str(TREE / "scratch"), **env)
    command = ["/usr/bin/python3", "-m", "pytest", *words, "-q", "-s", "-p", "no:cacheprovider", "--timeout=0"]
    return subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode == 0


def kill(options):
    rounds = options.rounds or 100
    passed = passes("tests/e2e/test_kill.py", ROTA_KILL_ROUNDS=str(rounds))
    record("kill", "sqlite", [{"name": "kill: rounds", "figure": rounds, "passed": passed}], {})
    if not passed:
        raise Wrong(f"the ledger checker found something in {rounds} rounds of SIGKILL")


def faults(_):
    """What is promised of the times at which nodes and the database come and go."""
    with tempfile.NamedTemporaryFile("r") as told:
        if not passes("tests/e2e/test_database_away.py", "tests/e2e/test_cluster.py", "-k", "killed_every or hanging or refusing or frozen_for",
                      ROTA_FIGURES=told.name):
            raise Wrong("a test did not pass")
        lines = [json.loads(line) for line in told]
    record("faults", "postgres", [figure(f"{line['name']}, s", line["seconds"], line["budget"], False) for line in lines], {})


BENCHES = {"life": life, "late": late, "submit": submit, "growth": growth, "list": lists, "snapshot": snapshot, "reads": reads, "events": events,
           "kill": kill, "faults": faults}
DEFAULT = ["life", "late", "submit"]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(BENCHES)}; default: {' '.join(DEFAULT)}")
    parser.add_argument("--store", choices=STORES, default="sqlite", help="life, late, submit, growth, events (sqlite)")
    parser.add_argument("--seconds", type=int, help="life: the measured window (60); snapshot: how long it is held (600); events (20)")
    parser.add_argument("--bulk", type=int, default=500, help="life, submit: tasks in one request; growth: jobs in one batch")
    parser.add_argument("--pending", type=int, default=20000, help="life: the generator waits while rota has so many jobs pending")
    parser.add_argument("--late-seconds", type=int, default=20)
    parser.add_argument("--submit-seconds", type=int, default=10)
    parser.add_argument("--planned", default="10000,1000000,10000000", help="growth: how many jobs are planned, step by step")
    parser.add_argument("--rounds", type=int, help="kill (100), reads (3)")
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {' '.join(unknown)}")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))  # so that what was started is stopped
    for name in options.names or DEFAULT:
        try:
            BENCHES[name](options)
        except (Wrong, OSError) as wrong:  # OSError: rota went away while it was asked
            sys.exit(f"{name}: {wrong}")


if __name__ == "__main__":
    main()
