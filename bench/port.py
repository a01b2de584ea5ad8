"""Benches of the store's port, without rota around it or beside it: growth, snapshot, reads."""

import collections
import contextlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from parts import Load, Port, Process, Session, Wrong, closing, cpu_between, ms, running, store_running
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


# Reads of jobs that wait, while pullers claim them and give them back. Everything but which rows are claimed is the same in `apart`
# and `claiming`: the tables, the rate of the claims, their size, the reads. In `locking` the SELECTs ask for a lock, as a read would
# that has to wait: it shows what the others would look like if they did.
READ_JOBS, READ_RATE, READ_SECONDS, PULLERS, CLAIM_RATE = 2000, 250, 15, 2, 2000
PLAIN = "SELECT * FROM rota.jobs WHERE id = (SELECT id FROM ids WHERE no = :no)"
ReadCase = collections.namedtuple("ReadCase", "lane select")
READ_CASES = {"idle": ReadCase(None, PLAIN), "apart": ReadCase(1, PLAIN), "claiming": ReadCase(0, PLAIN),
              "locking": ReadCase(0, PLAIN + " FOR SHARE")}
# Commits between two looks, because a snapshot that is held would change what is measured.
SAMPLE = """CREATE PROCEDURE sample(seconds float, INOUT looks int, INOUT readers int, INOUT pullers int) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 s';
    now_readers int; now_pullers int;
BEGIN
    WHILE clock_timestamp() < until LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT count(*) FILTER (WHERE application_name <> 'puller'), count(*) FILTER (WHERE application_name = 'puller')
            INTO now_readers, now_pullers FROM pg_stat_activity WHERE wait_event_type = 'Lock';
        looks := looks + 1; readers := readers + now_readers; pullers := pullers + now_pullers;
        COMMIT;
        PERFORM pg_sleep(0.02);
        COMMIT;
    END LOOP;
END $$"""


def machine_busy():
    """Ticks of all cores, and those of them that were not idle."""
    ticks = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
    return sum(ticks), sum(ticks) - ticks[3] - ticks[4]


def quantiles(took_us):
    took_us.sort()
    return {"count": len(took_us), **{name: took_us[int(len(took_us) * part)] for name, part in [("p50_us", 0.5), ("p99_us", 0.99)]},
            "max_us": took_us[-1]}


@contextlib.contextmanager
def selecting(store, select):
    """SELECTs of the rows by PostgreSQL's own pgbench, in PostgreSQL's words; yields a function that waits for their times."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script"
        script.write_text(f"\\set no random(1, {READ_JOBS})\n{select};\n")
        pgbench = Process([store.cluster.bin / "pgbench", "-n", "-M", "prepared", "-c", 4, "-R", READ_RATE, "-T", READ_SECONDS, "-f", script,
                           "-l", "--log-prefix", pathlib.Path(folder) / "log", store.url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def times():
            if pgbench.child.wait():
                raise Wrong(f"pgbench ended with {pgbench.child.returncode}")
            rows = [line.split() for log in pathlib.Path(folder).glob("log.*") for line in log.read_text().splitlines()]
            return quantiles([int(row[2]) - int(row[6]) for row in rows])  # from its beginning, not from when it should have begun

        with closing(pgbench):
            yield times


def read_for(rota, store, paths, case):
    """The latencies of both kinds of reads while pullers claim and give back, and how often somebody was seen to wait for a lock."""
    with contextlib.ExitStack() as stack:
        pullers = [stack.enter_context(closing(Port(store.url, "--lane", case.lane, env={**os.environ, "PGAPPNAME": "puller"})))
                   for _ in range(PULLERS if case.lane is not None else 0)]
        for puller in pullers:
            puller.send("churn", READ_SECONDS + 3, CLAIM_RATE // PULLERS)
        time.sleep(1)
        before, database = machine_busy(), store.cpu_us()
        times = stack.enter_context(selecting(store, case.select))
        load = Load(rota, "--read", paths, "--connections", 4, "--rate", READ_RATE, "--seconds", READ_SECONDS)
        seen = store.cluster.sql(f"CALL sample({READ_SECONDS}, 0, 0, 0)").split("|")
        gets, selects, after = load.result(), times(), machine_busy()
        used = sum(cpu_between(database, store.cpu_us()).values())
        answers = [puller.answer() for puller in pullers]
    return {"get": gets, "select": selects, "claims_s": sum(answer["count"] / answer["seconds"] for answer in answers),
            "claim_p50_us": max((answer["p50_us"] for answer in answers), default=0), "busy": (after[1] - before[1]) / (after[0] - before[0]),
            "database_cores": used / 1e6 / READ_SECONDS, **dict(zip(["looks", "readers_waiting", "pullers_waiting"], map(int, seen)))}


def reads(options):
    with running("postgres") as (target, rota, store), tempfile.NamedTemporaryFile("w") as paths:
        for queue in ["read", "beside"]:  # lanes 0 and 1
            ids = rota.submit([{"url": target.url, "in": "10h", "queue": queue}] * READ_JOBS)
            if queue == "read":
                paths.writelines(f"/v1/tasks/{text}\n" for text in ids)
                paths.flush()
                store.cluster.sql("CREATE TABLE ids AS SELECT row_number() OVER (ORDER BY id) AS no, id FROM rota.jobs")
        store.cluster.sql("ALTER TABLE ids ADD PRIMARY KEY (no)")
        store.cluster.sql("GRANT SELECT ON ids TO rota")
        store.cluster.sql(SAMPLE)
        store.vacuum()
        seen = {case: [] for case in READ_CASES}
        for round in range(options.rounds or 3):
            for name in list(READ_CASES)[::-1 if round % 2 else 1]:  # to and fro, so that what grows with time is in all of them
                part = read_for(rota, store, paths.name, READ_CASES[name])
                seen[name].append(part)
                print(f"  {name:8} GET p50 {ms(part['get']['p50_us'])}, p99 {ms(part['get']['p99_us'])}; SELECT p50 {ms(part['select']['p50_us'])},"
                      f" p99 {ms(part['select']['p99_us'])}; {part['claims_s']:,.0f} jobs/s claimed and given back, PostgreSQL"
                      f" {part['database_cores']:.2f} cores, all cores {part['busy']:.0%} busy; waits for locks seen in {part['looks']} looks:"
                      f" readers {part['readers_waiting']}, pullers {part['pullers_waiting']}", flush=True)

    def of(case, kind, key):
        return statistics.median(part[kind][key] for part in seen[case])

    figures = []
    for kind in ["get", "select"]:
        for name, key in [("p50", "p50_us"), ("p99", "p99_us")]:
            figures.append(figure(f"reads: {kind.upper()} {name} claiming ÷ apart (locks)", of("claiming", kind, key) / of("apart", kind, key),
                                  1.5, False))
            print(f"  {kind.upper()} {name}: {', '.join(f'{case} {ms(of(case, kind, key))}' for case in READ_CASES)}")
    record("reads", "postgres", figures, {"rate": READ_RATE, "jobs": READ_JOBS, "pullers": PULLERS, "claim_rate": CLAIM_RATE, **seen})
