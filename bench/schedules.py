"""The bench of recurring tasks: what a job of a schedule costs beside a one-time job, whether planning keeps up, and what
schedules cost that have nothing to do."""

import datetime
import time

from parts import Load, Meter, Wrong, running, wait_until
from report import figure, record
from rest import idle_of
from whole import WARM_SECONDS, check_on_time, late_figures

RATIO, KEPT_UP, IDLE_PERCENT, MORE_MIB = 1.3, 0.99, 1, 64
FILL_MARGIN = 1.5  # the schedules start so much later than it took to make them the first time: making them is not a part of running them
SPREAD_FROM_MS, SPREAD_TO_MS = 2000, 10000  # of one-time jobs: they are claimed when their time comes near, as planned ones are


def text_of(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def now_ms():
    return time.time_ns() // 1_000_000


def fill(rota, target, count, every_ms, bulk, **fields):
    """Makes so many schedules, whose instants are spread evenly. Returns how long it took."""
    began, zero = time.monotonic(), now_ms() - every_ms  # in the past, so that all run within one period
    for first in range(0, count, bulk):
        numbers = range(first, min(first + bulk, count))
        rota.submit([{"url": target.url, "every": f"{every_ms}ms", "anchor": text_of(zero + i * every_ms // count), **fields}
                     for i in numbers])
    return time.monotonic() - began


def cost(used):
    return used["rota_us"] + used["database_us"]


def one_time(rota, target, store, rate, seconds, bulk):
    """As many one-time jobs a second, from their submit to their end: CPU a job."""
    meter, before = Meter(rota, store, [target]), rota.done()
    result = Load(rota, "--url", target.url, "--connections", 8, "--bulk", bulk, "--rate", rate, "--seconds", seconds,
                  "--spread-from", SPREAD_FROM_MS, "--spread-to", SPREAD_TO_MS).result()
    wait_until(lambda: rota.done() - before == result["acknowledged"], "all one-time jobs have succeeded", 120)
    return meter.stop().each(result["acknowledged"], result["cpu_us"])


def schedules_run(rota, target, store, seconds):
    """What runs by itself within so many seconds."""
    time.sleep(WARM_SECONDS)
    target.reset()
    meter, before, began = Meter(rota, store, [target]), rota.done(), time.monotonic()
    time.sleep(seconds)
    done, lasted, seen = rota.done() - before, time.monotonic() - began, target.stats()
    if done <= 0:
        raise Wrong("no job of a schedule was done within the window")
    check_on_time(seen)
    return done / lasted, seen, meter.stop().each(done)


def at_rest(options, count):
    """Schedules whose first instant is far away: more memory than without them, and CPU."""
    starts_at = text_of(now_ms() + 30 * 86_400_000)
    with running(options.store) as (target, rota, store):
        time.sleep(WARM_SECONDS)
        empty = rota.memory_mib()
        filled_s = fill(rota, target, count, 60_000, options.bulk, starts_at=starts_at)
        time.sleep(WARM_SECONDS)
        full, idle = rota.memory_mib(), idle_of(rota, store, 10)
    print(f"  {count:,} at rest, made in {filled_s:.0f} s: {full} MiB, {empty} without them")
    figures = [figure(f"recurring: {count:,} idle, % of a core", idle["rota_percent"] + idle["database_percent"], IDLE_PERCENT, False),
               figure("recurring: … more memory, MiB", max(full - empty, 0), MORE_MIB, False)]
    return figures, {"empty_mib": empty, "full_mib": full, "filled_s": filled_s, "idle": idle}


def recurring(options):
    count, every_s, seconds = options.schedules, options.every, options.seconds or 60
    rate = count / every_s
    rest_figures, rest = at_rest(options, count)
    with running(options.store, "--late") as (target, rota, store):
        print(f"  {rate:,.0f} one-time jobs/s:")
        once = one_time(rota, target, store, max(int(rate), 1), min(seconds, 20), options.bulk)
        starts_ms = now_ms() + int(FILL_MARGIN * rest["filled_s"] * 1000) + 5000
        filled_s = fill(rota, target, count, every_s * 1000, options.bulk, starts_at=text_of(starts_ms))
        print(f"  {count:,} schedules of one in {every_s} s, made in {filled_s:.0f} s:", flush=True)
        time.sleep(max(starts_ms - now_ms(), 0) / 1000)
        done, seen, used = schedules_run(rota, target, store, seconds)
        memory = rota.memory_mib("VmHWM")
    figures = [figure(f"recurring: jobs/s of {rate:,.0f}", done, KEPT_UP * rate, True),
               figure("recurring: CPU a job ÷ one-time", cost(used) / cost(once), RATIO, False),
               *late_figures("recurring: late", seen), *rest_figures]
    print(f"  peak {memory} MiB")
    record("recurring", options.store, figures, {
        "schedules": count, "every_s": every_s, "seconds": seconds, "filled_s": filled_s, "memory_peak_mib": memory, "late": seen,
        "rest": rest, "once": once, **used})
