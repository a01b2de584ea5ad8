"""Benches of who looks at many jobs, or hears of them: list, events."""

import json
import tempfile
import time

from parts import Listeners, Load, Port, Rota, Wrong, ask, closing, cpu_between, running, store_running
from port import vacuum
from report import figure, record

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


EVENT_CLIENTS, EVENT_RATE, EVENT_SECONDS = 1000, 1000, 20


def events(options):
    """Each job is three events: submitted, started, success."""
    jobs_s, seconds = EVENT_RATE / 3, options.seconds or EVENT_SECONDS
    with running(options.store) as (target, rota, store):
        parts = {}
        for name, clients in [("without", 0), ("idle", EVENT_CLIENTS), ("with", EVENT_CLIENTS)]:
            with Listeners(rota.port, clients) as listeners:
                load = [] if name == "idle" else [Load(rota, "--url", target.url, "--connections", 64, "--rate", round(jobs_s),
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
        memory = rota.memory_mib("VmHWM")
    figures = [figure(f"events: cores, {EVENT_CLIENTS:,} clients at {EVENT_RATE:,} events/s", parts["with"]["cores"], 1, False)]
    print(f"  every client heard every event; peak {memory} MiB")
    record("events", options.store, figures, {"seconds": seconds, "memory_peak_mib": memory, **parts})
