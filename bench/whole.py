"""Benches of whole tasks, through rota with all around it: life, half, burst, late, submit, lanes."""

import datetime
import math
import time

from parts import DRAIN_SECONDS, Load, Meter, Target, Wrong, closing, disk_syncs, ms, running, wait_until
from report import figure, record
from rest import idle_figure, idle_of

WARM_SECONDS = 3
LIFE_BUDGET = 23148  # a second: two billion a day
CPU_BUDGET = {"sqlite": 45, "postgres": 60}
LATE_MS = {"p50": 1, "p99": 5}
SUBMIT_P99_MS = 10  # no budget of the design: what a caller that waits for each answer would hardly notice


def check_all_ran(target, rota, wanted):
    """How many calls were made more than once."""
    stats, calls = rota.drain(), target.stats()["calls"]
    done = stats["states"].get("success", 0)
    if done != wanted or calls < wanted:
        raise Wrong(f"{wanted} tasks were acknowledged, {done} succeeded, {calls} calls reached the target: {stats['states']}")
    return calls - wanted


def check_on_time(seen):
    if seen["early"] or seen["unmarked"]:
        raise Wrong(f"{seen['early']} calls came early, by up to {seen['early_max_us']} µs; {seen['unmarked']} had no Rota-Scheduled-At")


def late_figures(name, seen):
    print(f"  {seen['count']:,} calls, p90 {ms(seen['p90_us'])}, p99.9 {ms(seen['p999_us'])}, max {ms(seen['max_us'])}, none early;"
          f" a thread that only sleeps: p50 {ms(seen['sleeper']['p50_us'])}, p99 {ms(seen['sleeper']['p99_us'])} late")
    return [figure(f"{name} {q} ms", seen[f"{q}_us"] / 1000, budget, False) for q, budget in LATE_MS.items()]


def cpu_figure(name, options, used):
    database = " + PostgreSQL" if options.store == "postgres" else ""
    return figure(f"{name}: rota{database} CPU µs/task", used["rota_us"] + used["database_us"], CPU_BUDGET[options.store], False)


def life(options):
    window = options.seconds or 60
    with running(options.store) as (target, rota, store):
        load = Load(rota, "--url", target.url, "--connections", 8, "--bulk", options.bulk, "--pending", options.pending,
                    "--seconds", WARM_SECONDS + window + 2)
        time.sleep(WARM_SECONDS)
        meter, before, began = Meter(rota, store, [target], load), rota.done(), time.monotonic()
        time.sleep(window)
        done, seconds, used = rota.done() - before, time.monotonic() - began, meter.stop()
        result = load.result()
        extra = check_all_ran(target, rota, result["acknowledged"])
        memory = rota.memory_mib("VmHWM")
    if done <= 0:
        raise Wrong("no task was done within the window")
    used = used.each(done)
    figures = [figure("life: tasks/s", done / seconds, LIFE_BUDGET, True), cpu_figure("life", options, used)]
    print(f"  {seconds:.0f} s, {result['acknowledged']:,} tasks, {extra} calls too many, submit p99 {ms(result['p99_us'])}, peak {memory} MiB")
    record("life", options.store, figures, {
        "seconds": seconds, "bulk": options.bulk, "pending": options.pending, **used, "extra_calls": extra,
        "memory_peak_mib": memory, "load": result})


HALF_BULK, EXTRA_RATE = 100, 200


def half(options):
    """Half of what life is to sustain, and beside it a stream of tasks whose lateness and submits are timed one by one."""
    rate, seconds, disk = LIFE_BUDGET // 2, options.seconds or 30, disk_syncs()
    with running(options.store) as (target, rota, store), closing(Target("--late")) as timed:
        load = Load(rota, "--url", target.url, "--connections", 8, "--bulk", HALF_BULK, "--rate", rate, "--seconds", seconds + WARM_SECONDS)
        time.sleep(WARM_SECONDS)
        meter, before = Meter(rota, store, [target, timed], load), rota.done()
        extra = Load(rota, "--url", timed.url, "--queue", "timed", "--connections", 8, "--rate", EXTRA_RATE, "--seconds", seconds - 3,
                     "--spread-from", 500, "--spread-to", 2500)
        time.sleep(seconds - 1)
        done, used = rota.done() - before, meter.stop()
        results = [load.result(), extra.result()]
        stats, seen = rota.drain(), timed.stats()
    if stats["states"].get("success", 0) != sum(result["acknowledged"] for result in results):
        raise Wrong(f"not everything that was acknowledged has succeeded: {stats['states']}")
    check_on_time(seen)
    used = used.each(done)
    figures = [rate_figure("half", results[0], rate), *late_figures("half: late", seen),
               figure("half: submit p99 ms", results[1]["p99_us"] / 1000, SUBMIT_P99_MS, False), cpu_figure("half", options, used)]
    print(f"  submits one by one at {EXTRA_RATE}/s: p50 {ms(results[1]['p50_us'])}, max {ms(results[1]['max_us'])};"
          f" in bulk of {HALF_BULK}: p50 {ms(results[0]['p50_us'])}, p99 {ms(results[0]['p99_us'])}")
    record("half", options.store, figures, {"seconds": seconds, "rate": rate, "disk": disk, **used, "late": seen, "load": results})


BURST_JOBS, BURST_S, BURST_MIB, BESIDE_RATE = 1388889, 30, 256, 100
HORIZON_S = 5  # how long before its time rota takes a job in hand: by then all of them are to be there


def burst_submit(rota, target, jobs, bulk, lead):
    """Plans them all for one instant and returns that, in seconds of the wall clock, and how long it took."""
    at = math.ceil(time.time() + lead)
    text = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    began, rest = time.monotonic(), jobs % bulk
    if jobs > rest:
        Load(rota, "--url", target.url, "--at", text, "--connections", 8, "--bulk", bulk, "--count", jobs - rest).result()
    if rest:
        rota.submit([{"url": target.url, "at": text}] * rest)
    if time.time() > at - HORIZON_S:
        raise Wrong(f"submitting took {time.monotonic() - began:.0f} s, too long for --lead {lead:.0f}")
    return at, time.monotonic() - began


def burst(options):
    jobs = options.jobs
    lead = options.lead or jobs / 25000 + HORIZON_S + 10
    with running(options.store, "--late") as (target, rota, store), closing(Target("--late")) as beside:
        at, submit_s = burst_submit(rota, target, jobs, options.bulk, lead)
        memory_submit = rota.memory_mib("VmHWM")
        rota.memory_peak_reset()
        print(f"  {jobs:,} were planned in {submit_s:.0f} s, peak {memory_submit} MiB; their time is in {at - time.time():.0f} s", flush=True)
        time.sleep(max(0, at - HORIZON_S - 3 - time.time()))
        # Work of another queue for another host, from before the instant until after the last one.
        load = Load(rota, "--url", beside.url, "--queue", "beside", "--connections", 4, "--rate", BESIDE_RATE, "--seconds", 3600,
                    "--spread-from", 500, "--spread-to", 2000)
        time.sleep(max(0, at - time.time()))
        beside.reset()
        meter = Meter(rota, store, [target, beside], load)
        seen = target.wait(jobs)
        during, used = beside.stats(), meter.stop()
        load.end()
        result, stats = load.result(), rota.drain()
        memory = rota.memory_mib("VmHWM")
    wanted = jobs + result["acknowledged"]
    if stats["states"].get("success", 0) != wanted:
        raise Wrong(f"{wanted} tasks were acknowledged, these are: {stats['states']}")
    check_on_time(seen)
    used = used.each(jobs)
    figures = [figure(f"burst: last of {jobs:,} started, s", seen["max_us"] / 1e6, BURST_S * jobs / BURST_JOBS, False),
               figure("burst: peak memory, MiB", max(memory, memory_submit), BURST_MIB, False),
               *late_figures("burst: beside it, late", during)]
    print(f"  half of them after {seen['p50_us'] / 1e6:.1f} s; submits beside it: p50 {ms(result['p50_us'])}, p99 {ms(result['p99_us'])}")
    record("burst", options.store, figures, {
        "jobs": jobs, "submit_s": submit_s, **used, "memory_submit_mib": memory_submit, "memory_peak_mib": memory, "late": seen,
        "beside": during, "load": result})


LATE_RATE = 1000


def rate_figure(name, result, rate):
    """Of what was to be sent. It is missed when rota does not keep up; then the lateness beside it is that of less work."""
    return figure(f"{name}: sent of {rate:,}/s", result["acknowledged"] / result["seconds"], 0.99 * rate, True)


def late_run(rota, target, store, seconds, *more):
    """LATE_RATE jobs a second, planned 2 to 10 s ahead: what the target saw, what the generator did, and CPU."""
    target.reset()
    meter = Meter(rota, store, [target])
    # So many connections that the answers, which follow a commit each, do not slow it down.
    result = Load(rota, "--url", target.url, "--connections", 64, "--rate", LATE_RATE, "--seconds", seconds, "--spread-from", 2000,
                  "--spread-to", 10000, *more).result()
    seen = target.wait(result["acknowledged"])
    check_on_time(seen)
    return seen, result, meter.stop().each(result["acknowledged"], result["cpu_us"])


def late(options):
    with running(options.store, "--late") as (target, rota, store):
        seen, result, used = late_run(rota, target, store, options.seconds or 20)
        check_all_ran(target, rota, result["acknowledged"])
    figures = [rate_figure("late", result, LATE_RATE), *late_figures("late:", seen)]
    record("late", options.store, figures, {**used, "target": seen, "load": result})


def submit(options):
    figures, detail = [], {}
    for name, bulk, connections, budget in [("bulk", options.bulk, 8, 80000), ("one by one, 64 connections", 0, 64, 50000)]:
        disk = disk_syncs()
        with running(options.store) as (target, rota, store):
            meter = Meter(rota, store)
            # Planned for later, so that nothing but the submit is measured.
            result = Load(rota, "--url", target.url, "--connections", connections, "--bulk", bulk, "--in", "1h",
                          "--seconds", options.seconds or 10).result()
            used = meter.stop().each(result["acknowledged"], result["cpu_us"])
            if rota.stats()["pending"] != result["acknowledged"]:
                raise Wrong(f"{result['acknowledged']} tasks were acknowledged, {rota.stats()['pending']} are pending")
        figures.append(figure(f"submit: {name}, /s", result["per_s"], budget, True))
        print(f"  p50 {ms(result['p50_us'])}, p99 {ms(result['p99_us'])}")
        detail[name] = {"disk": disk, **used, "load": result}
    record("submit", options.store, figures, detail)


def lanes(options):
    """The same work with one lane and among many: what is planned in the others is to cost nothing, what is due there what it costs."""
    count, planned, seconds = options.lanes, options.lanes * 10, options.seconds or 20
    with running(options.store, "--late") as (target, rota, store):
        print("  one lane:")
        alone = late_run(rota, target, store, seconds)
        filled = Load(rota, "--url", target.url, "--in", "30d", "--queues", count, "--connections", 8, "--bulk", options.bulk,
                      "--count", planned).result()
        print(f"  {planned:,} planned in {count:,} other lanes, in {filled['seconds']:.0f} s; nothing to do:", flush=True)
        idle = idle_of(rota, store, 10)
        print("  one lane is busy:")
        beside = late_run(rota, target, store, seconds)
        print("  each job is in the next lane:")
        spread = late_run(rota, target, store, seconds, "--queues", count)
        memory = rota.memory_mib("VmHWM")
        wanted = sum(run[1]["acknowledged"] for run in (alone, beside, spread))
        wait_until(lambda: rota.done() == wanted, f"{wanted} tasks have succeeded", DRAIN_SECONDS)

    def cost(run):
        return run[2]["rota_us"] + run[2]["database_us"]

    figures = [rate_figure("lanes", spread[1], LATE_RATE), idle_figure(f"lanes: idle with {count:,}, % of a core", idle),
               figure(f"lanes: CPU a task beside {count:,} ÷ alone", cost(beside) / cost(alone), 1.5, False),
               *late_figures("lanes: beside them, late", beside[0]),
               figure(f"lanes: CPU a task in {count:,} ÷ in one", cost(spread) / cost(alone), 1.5, False),
               *late_figures("lanes: in them, late", spread[0])]
    print(f"  peak {memory} MiB")
    record("lanes", options.store, figures, {
        "lanes": count, "planned": planned, "filled_s": filled["seconds"], "memory_peak_mib": memory, "idle": idle,
        **{name: {"late": run[0], **run[2]} for name, run in [("alone", alone), ("beside", beside), ("spread", spread)]}})
