"""Benches of a rota with nothing to do: idle, memory."""

import tempfile
import time

from parts import Load, Meter, Rota, Target, Wrong, closing, cpu_between, split_words, store_running
from report import figure, record

IDLE_PERCENT, IDLE_MIB, FULL_MIB, READY_S, READY_KILLED_S = 0.5, 40, 256, 2, 5
SETTLE_S = 3


def idle_of(rota, store, seconds):
    """CPU in % of a core and wake-ups a second."""
    before = rota.threads_us(), store.cpu_us(), rota.switches()
    began = time.monotonic()
    time.sleep(seconds)
    lasted = time.monotonic() - began
    after = rota.threads_us(), store.cpu_us(), rota.switches()

    def percent(one, two):
        return {name: round(us / lasted / 1e4, 4) for name, us in cpu_between(one, two).items()}

    found = {"seconds": lasted, "threads_percent": percent(before[0], after[0]), "postgres_percent": percent(before[1], after[1]),
             "wakeups_s": round((after[2] - before[2]) / lasted, 1)}
    found["rota_percent"] = round(sum(found["threads_percent"].values()), 4)
    found["database_percent"] = round(sum(found["postgres_percent"].values()), 4)
    print(f"  % of a core: rota {found['rota_percent']:.3f}: {split_words(found['threads_percent'])}; {found['wakeups_s']} wake-ups/s")
    if found["postgres_percent"]:
        print(f"  % of a core: PostgreSQL {found['database_percent']:.3f}: {split_words(found['postgres_percent'])}")
    return found


def idle_figure(name, idle):
    return figure(name, idle["rota_percent"] + idle["database_percent"], IDLE_PERCENT, False)


def idle(options):
    with store_running(options.store) as store, tempfile.TemporaryFile() as log, closing(Rota(store.url, log)) as rota:
        time.sleep(SETTLE_S)
        found = idle_of(rota, store, options.seconds or 30)
        found.update(memory_mib=rota.memory_mib(), pss_mib=rota.memory_mib("Pss"))
    database = " + PostgreSQL" if options.store == "postgres" else ""
    figures = [idle_figure(f"idle: rota{database} % of a core", found), figure("idle: memory, MiB", found["memory_mib"], IDLE_MIB, False)]
    record("idle", options.store, figures, found)


def memory_fill(rota, store, planned, bulk):
    """Planned for a month from now, so that nothing runs. Seconds, and CPU a task."""
    meter = Meter(rota, store)
    with closing(Target()) as target:
        result = Load(rota, "--url", target.url, "--in", "30d", "--connections", 8, "--bulk", bulk, "--count", planned).result()
    if rota.stats()["pending"] != result["acknowledged"]:
        raise Wrong(f"{result['acknowledged']} tasks were acknowledged, {rota.stats()['pending']} are pending")
    print(f"  {result['acknowledged']:,} planned in {result['seconds']:.0f} s: RSS {rota.memory_mib()} MiB, PSS {rota.memory_mib('Pss')}, peak"
          f" {rota.memory_mib('VmHWM')}", flush=True)
    return {"filled_s": result["seconds"], **meter.stop().each(planned, result["cpu_us"])}


def memory_started(name, store, log, wanted, seen):
    """A rota that is started on what there is; how soon it was ready, and what it takes."""
    rota = Rota(store.url, log)
    try:
        time.sleep(SETTLE_S)
        seen[name] = {"ready_s": rota.ready_s, "rss_mib": rota.memory_mib(), "pss_mib": rota.memory_mib("Pss"), "peak_mib": rota.memory_mib("VmHWM")}
        pending = rota.stats()["pending"]
    except BaseException:
        rota.stop()
        raise
    if pending != wanted:
        rota.stop()
        raise Wrong(f"{wanted} jobs were planned, {pending} are there after a start")
    print(f"  {name}: ready after {rota.ready_s:.2f} s, RSS {seen[name]['rss_mib']} MiB, PSS {seen[name]['pss_mib']}", flush=True)
    return rota


def memory(options):
    planned = max(int(size) for size in options.planned.split(","))
    planned -= planned % options.bulk
    seen = {"planned": planned}
    with store_running(options.store) as store, tempfile.TemporaryFile() as log:
        with closing(memory_started("empty", store, log, 0, seen)) as rota:
            seen.update(memory_fill(rota, store, planned, options.bulk))
            seen["full"] = {"rss_mib": rota.memory_mib(), "pss_mib": rota.memory_mib("Pss"), "peak_mib": rota.memory_mib("VmHWM")}
        with closing(memory_started("started again", store, log, planned, seen)) as rota:
            seen["idle"] = idle_of(rota, store, options.seconds or 10)
            rota.child.kill()
        memory_started("started after SIGKILL", store, log, planned, seen).stop()
    again, killed = seen["started again"], seen["started after SIGKILL"]
    figures = [figure("memory: empty, MiB", seen["empty"]["rss_mib"], IDLE_MIB, False),
               figure(f"memory: {planned:,} planned, peak MiB", seen["full"]["peak_mib"], FULL_MIB, False),
               figure("memory: started with them, MiB", again["peak_mib"], FULL_MIB, False),
               figure("memory: ready with them after, s", again["ready_s"], READY_S, False),
               figure("memory: … after SIGKILL, s", killed["ready_s"], READY_KILLED_S, False),
               idle_figure("memory: idle with them, % of a core", seen["idle"])]
    record("memory", options.store, figures, seen)
