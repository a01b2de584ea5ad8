"""Benches of the store's port, without rota around it or beside it: growth, snapshot, reads."""

import contextlib
import statistics
import tempfile
import time

from parts import Load, Port, Session, Wrong, closing, cpu_between, ms, running, store_running
from report import figure, record

GROWTH_JOBS, GROWTH_ROUNDS = 10000, 10
REST_S = 0.5  # between two parts. Right behind one that writes scattered pages everything takes up to 1.7 times the CPU, whatever it is


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
            time.sleep(REST_S)
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
