"""Measures rota against its budgets: life, late, submit, kill.

Starts the target, a release build of rota and the load generator on this machine's cores, takes CPU from /proc, prints one line
a figure, and appends what it saw to bench/results/NAME.jsonl. A figure below its budget is reported, not failed: this is no
timed test. It fails when the run itself was wrong: a task lost, refused or called early.
"""

import argparse
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TREE = ROOT / "build-bench"
RESULTS = ROOT / "bench" / "results"
TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")
READY_SECONDS, DRAIN_SECONDS, WARM_SECONDS = 10, 120, 3


class Wrong(Exception):
    """The run cannot be trusted, or rota did something it must never do."""


def wait_until(look, what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise Wrong(f"{what}: not after {seconds} s")


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ---- processes

class Process:
    def __init__(self, command, **options):
        self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, **options)

    @property
    def folder(self):
        return pathlib.Path(f"/proc/{self.child.pid}")

    def cpu_us(self):
        return stat_cpu_us(self.folder / "stat")

    def threads_us(self):
        """CPU by thread name; threads that share a name are added up."""
        found = {}
        for task in (self.folder / "task").iterdir():
            with contextlib.suppress(OSError):  # it ended while we looked
                name = (task / "comm").read_text().strip()
                found[name] = found.get(name, 0) + stat_cpu_us(task / "stat")
        return found

    def memory_peak_mib(self):
        for line in (self.folder / "status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return round(int(line.split()[1]) / 1024, 1)

    def stop(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.wait()


def stat_cpu_us(path):
    fields = path.read_text().rpartition(")")[2].split()  # the name before the bracket may hold spaces
    return (int(fields[11]) + int(fields[12])) * TICK_US


class Target(Process):
    def __init__(self, *options):
        super().__init__([TREE / "bench" / "bench-target", *options], stdout=subprocess.PIPE)
        self.port = int(self.child.stdout.readline().split()[1])
        self.url = f"http://127.0.0.1:{self.port}/"

    def stats(self):
        return json.loads(ask(self.port, "/stats")[1])


class Rota(Process):
    def __init__(self, data, log):
        self.port, self.log = free_port(), log
        command = [TREE / "src" / "rota", "serve", "--listen", f"127.0.0.1:{self.port}", "--data", data]
        super().__init__(command, stdout=log, stderr=log)
        wait_until(self.ready, "rota answers /readyz", READY_SECONDS)

    def ready(self):
        if self.child.poll() is not None:
            self.log.seek(0)
            raise Wrong(f"rota ended with {self.child.returncode}: {self.log.read().decode(errors='replace')[-2000:]}")
        try:
            return ask(self.port, "/readyz")[0] == 200
        except OSError:
            return False

    def stats(self):
        return json.loads(ask(self.port, "/v1/stats")[1])

    def drain(self):
        """Waits until nothing is pending; the stats then."""
        def empty():
            stats = self.stats()
            return stats if stats["pending"] == 0 else None
        return wait_until(empty, "nothing is pending", DRAIN_SECONDS)


class Load(Process):
    def __init__(self, rota, *options):
        super().__init__([TREE / "bench" / "bench-load", "--port", rota.port, *options], stdout=subprocess.PIPE)

    def result(self):
        output, _ = self.child.communicate()
        if self.child.returncode:
            raise Wrong(f"the load generator met errors: {output.decode()}")
        return json.loads(output)


@contextlib.contextmanager
def running(*target_options):
    """A target and a fresh rota. The data lies in the build tree: a real disk, where a sync costs what it costs."""
    home = tempfile.mkdtemp(prefix="data-", dir=TREE)
    started = []
    try:
        with open(pathlib.Path(home) / "log", "w+b") as log:
            started.append(Target(*target_options))
            started.append(Rota(pathlib.Path(home) / "data", log))
            yield started[0], started[1]
            code = started.pop().stop()
            if code != 0:
                raise Wrong(f"rota's graceful stop ended with {code}")
    finally:
        for process in started:
            process.stop()
        shutil.rmtree(home, ignore_errors=True)


# ---- what is written

def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    return {"cores": os.cpu_count(), "cpu": model}


def commit():
    def git(*args):
        return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno", "--", ".", ":!bench/results") else "")


def figure(name, value, budget, at_least):
    """One line of the table. A ratio of 1 or more is within the budget, whichever way the budget points."""
    ratio = value / budget if at_least else (budget / value if value else float("inf"))
    sign = "≥" if at_least else "≤"
    print(f"{name:40} {value:>12,.1f}   budget {sign} {budget:>9,.1f}   ratio {ratio:6.2f}", flush=True)
    return {"name": name, "figure": round(value, 2), "budget": budget, "at_least": at_least, "ratio": round(ratio, 3)}


def record(bench, figures, detail):
    RESULTS.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = {"bench": bench, "at": now, "commit": commit(), "machine": machine(), "figures": figures, "detail": detail}
    with open(RESULTS / f"{bench}.jsonl", "a") as out:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


# ---- the benches

def snapshot(target, rota, load):
    stats = rota.stats()
    return {"time": time.monotonic(), "done": stats["states"].get("success", 0), "pending": stats["pending"], "calls": target.stats()["calls"],
            "rota_us": rota.cpu_us(), "target_us": target.cpu_us(), "load_us": load.cpu_us(), "threads": rota.threads_us()}


def check_all_ran(target, rota, load_result):
    stats, calls = rota.drain(), target.stats()["calls"]
    done, wanted = stats["states"].get("success", 0), load_result["acknowledged"]
    if done != wanted or calls < wanted:
        raise Wrong(f"{wanted} tasks were acknowledged, {done} succeeded, {calls} calls reached the target: {stats['states']}")
    return calls - wanted


def life(options):
    with running() as (target, rota):
        load = Load(rota, "--url", target.url, "--connections", 8, "--bulk", options.bulk, "--pending", options.pending,
                    "--seconds", WARM_SECONDS + options.seconds + 2)
        time.sleep(WARM_SECONDS)
        before = snapshot(target, rota, load)
        time.sleep(options.seconds)
        after = snapshot(target, rota, load)
        result = load.result()
        extra = check_all_ran(target, rota, result)
        memory = rota.memory_peak_mib()
    done, seconds = after["done"] - before["done"], after["time"] - before["time"]
    if done <= 0:
        raise Wrong("no task was done within the window")

    def each(key):
        return (after[key] - before[key]) / done

    threads = {name: round((us - before["threads"].get(name, 0)) / done, 2) for name, us in after["threads"].items()}
    figures = [figure("life: tasks/s", done / seconds, 23148, True), figure("life: rota CPU µs/task", each("rota_us"), 45, False)]
    print(f"  CPU µs/task: target {each('target_us'):.1f}, generator {each('load_us'):.1f}; rota's threads: "
          + ", ".join(f"{name} {us}" for name, us in sorted(threads.items(), key=lambda row: -row[1])))
    print(f"  {seconds:.0f} s, {result['acknowledged']:,} tasks, {extra} calls too many, submit p99 {result['p99_us'] / 1000:.1f} ms, peak {memory} MiB")
    record("life", figures, {"seconds": seconds, "bulk": options.bulk, "pending": options.pending, "target_us": each("target_us"),
                             "load_us": each("load_us"), "threads_us": threads, "extra_calls": extra, "memory_peak_mib": memory, "load": result})


def late(options):
    with running("--late") as (target, rota):
        load = Load(rota, "--url", target.url, "--connections", 8, "--rate", 1000, "--seconds", options.late_seconds,
                    "--spread-from", 2000, "--spread-to", 10000)
        result = load.result()
        check_all_ran(target, rota, result)
        seen = target.stats()
    if seen["early"] or seen["unmarked"]:
        raise Wrong(f"{seen['early']} calls came early, by up to {seen['early_max_us']} µs; {seen['unmarked']} had no Rota-Scheduled-At")
    figures = [figure("late: p50 ms", seen["p50_us"] / 1000, 1, False), figure("late: p99 ms", seen["p99_us"] / 1000, 5, False)]
    print(f"  {seen['count']:,} calls, p90 {seen['p90_us'] / 1000} ms, p99.9 {seen['p999_us'] / 1000} ms, max {seen['max_us'] / 1000} ms, none early")
    record("late", figures, {"target": seen, "load": result})


def submit(options):
    figures, detail = [], {}
    for name, bulk, connections, budget in [("bulk", options.bulk, 8, 80000), ("one by one, 64 connections", 0, 64, 50000)]:
        with running() as (target, rota):
            before = rota.cpu_us()
            # Planned for later, so that nothing but the submit is measured.
            result = Load(rota, "--url", target.url, "--connections", connections, "--bulk", bulk, "--in", "1h", "--seconds", options.submit_seconds).result()
            cpu = (rota.cpu_us() - before) / max(1, result["acknowledged"])
            if rota.stats()["pending"] != result["acknowledged"]:
                raise Wrong(f"{result['acknowledged']} tasks were acknowledged, {rota.stats()['pending']} are pending")
        figures.append(figure(f"submit: {name}, /s", result["per_s"], budget, True))
        print(f"  rota {cpu:.1f} µs/task, p50 {result['p50_us'] / 1000} ms, p99 {result['p99_us'] / 1000} ms")
        detail[name] = {"rota_us": cpu, "load": result}
    record("submit", figures, detail)


def kill(options):
    env = dict(os.environ, ROTA_BIN=str(TREE / "src" / "rota"), ROTA_KILL_ROUNDS=str(options.rounds), ROTA_TEST_DIR=str(TREE / "scratch"))
    command = ["/usr/bin/python3", "-m", "pytest", "tests/e2e/test_kill.py", "-q", "-s", "-p", "no:cacheprovider", "--timeout=0"]
    code = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode
    record("kill", [{"name": "kill: rounds", "figure": options.rounds, "passed": code == 0}], {})
    if code:
        raise Wrong(f"the ledger checker found something in {options.rounds} rounds of SIGKILL")


BENCHES = {"life": life, "late": late, "submit": submit, "kill": kill}
DEFAULT = ["life", "late", "submit"]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(BENCHES)}; default: {' '.join(DEFAULT)}")
    parser.add_argument("--seconds", type=int, default=60, help="life: the measured window")
    parser.add_argument("--bulk", type=int, default=500, help="life, submit: tasks in one request")
    parser.add_argument("--pending", type=int, default=20000, help="life: the generator waits while rota has so many jobs pending")
    parser.add_argument("--late-seconds", type=int, default=20)
    parser.add_argument("--submit-seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100, help="kill")
    options = parser.parse_args()
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
