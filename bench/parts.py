"""What the benches are made of: the processes they start, where CPU is read, how a figure is written down.

PostgreSQL's CPU is that of its postmaster and of all its children, those that have ended included: each task costs what vacuum,
checkpoints and WAL cost behind it, too.
"""

import contextlib
import datetime
import http.client
import json
import multiprocessing
import os
import pathlib
import resource
import select
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
READY_SECONDS, DRAIN_SECONDS = 10, 120

sys.path.insert(0, str(ROOT / "tests" / "support"))
import postgres  # noqa: E402


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
        self.child = subprocess.Popen([str(part) for part in command], **{"stdin": subprocess.DEVNULL, **options})

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


OWN, ENDED = 11, 13  # where a stat line has the times of a process, and of its children that it has waited for


def stat_cpu_us(path, which=OWN):
    fields = path.read_text().rpartition(")")[2].split()  # the name before the bracket may hold spaces
    return (int(fields[which]) + int(fields[which + 1])) * TICK_US


@contextlib.contextmanager
def closing(process):
    try:
        yield process
    finally:
        process.stop()


class Target(Process):
    def __init__(self, *options):
        super().__init__([TREE / "bench" / "bench-target", *options], stdout=subprocess.PIPE)
        self.port = int(self.child.stdout.readline().split()[1])
        self.url = f"http://127.0.0.1:{self.port}/"

    def stats(self):
        return json.loads(ask(self.port, "/stats")[1])


class Rota(Process):
    def __init__(self, store, log):
        self.port, self.log = free_port(), log
        command = [TREE / "src" / "rota", "serve", "--listen", f"127.0.0.1:{self.port}", "--store", store]
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

    def submit(self, tasks):
        """Their ids."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/tasks?brief=1", json.dumps(tasks), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["ids"]

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


class Listeners:
    """A process that reads many streams of events, and counts what they hear. CPU is not this one's business but rota's."""

    def __init__(self, port, count):
        self.port, self.count = port, count

    def __enter__(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        self.heard = multiprocessing.Array("q", 2)  # streams that are ready, events
        self.child = multiprocessing.get_context("fork").Process(target=self.listen, daemon=True)
        self.child.start()
        wait_until(lambda: self.heard[0] == self.count, "all streams are ready", READY_SECONDS)
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.join()

    def wait(self, told):
        """How many were heard, when all should have been."""
        with contextlib.suppress(Wrong):
            wait_until(lambda: self.heard[1] >= told * self.count, "all heard everything", READY_SECONDS)
        return self.heard[1]

    def listen(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        poll, streams, buffer = select.epoll(), {}, bytearray(256 * 1024)
        for _ in range(self.count):
            stream = socket.create_connection(("127.0.0.1", self.port))
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            streams[stream.fileno()] = [stream, b""]
            poll.register(stream, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                self.take(streams[fd], buffer)

    def take(self, stream, buffer):
        n = stream[0].recv_into(buffer)
        if not n:
            os._exit(1)
        # What is looked for may lie across two reads, so the end of the last one goes before this one.
        text, ready, event = stream[1] + buffer[:n], b"event: ready", b"\nevent: "
        found = text.count(event) - stream[1].count(event)
        new_ready = text.count(ready) - stream[1].count(ready)
        stream[1] = bytes(text[-20:])
        self.heard[0] += new_ready
        self.heard[1] += found - new_ready


class Port(Process):
    """The store's port without rota around it: see bench_store.c."""

    def __init__(self, url, *options):
        command = [TREE / "bench" / "bench_store", "--store", url, *options]
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, *words):
        print(*words, file=self.child.stdin, flush=True)

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise Wrong(f"bench_store ended with {self.child.wait()}")
        return json.loads(line)

    def ask(self, *words):
        self.send(*words)
        return self.answer()


# ---- stores

class Session(Process):
    """A psql that stays open."""

    def __init__(self, store):
        command = [store.cluster.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", store.url]
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def sql(self, statements):
        """Returns when they are done."""
        print(statements, "; SELECT 'done';", file=self.child.stdin, flush=True)
        for line in self.child.stdout:
            if line == "done\n":
                return
        raise Wrong(f"psql ended with {self.child.wait()}: {statements}")


class Sqlite:
    def __init__(self, home):
        self.url = f"sqlite:{home / 'data'}"

    def cpu_us(self):
        return {}

    def vacuum(self):
        pass

    def stop(self):
        pass


class Postgres:
    """A private cluster. CPU by kind of process; `ended` is what children that are no more have used, nearly all of it vacuum."""

    # What a small server in production would have. Everything else is PostgreSQL's default: fsync, synchronous_commit and
    # full_page_writes are on, and autovacuum looks once a minute.
    SETTINGS = "shared_buffers = 128MB\nmax_wal_size = 1GB\n"
    KINDS = ["checkpointer", "background writer", "walwriter", "autovacuum", "logical replication"]

    def __init__(self, home):
        os.environ["ROTA_TEST_POSTGRES_ROOT"] = str(home)
        self.cluster = postgres.Cluster()
        try:
            with open(self.cluster.data / "postgresql.conf", "a") as conf:
                conf.write(self.SETTINGS + os.environ.get("ROTA_BENCH_POSTGRES_SETTINGS", ""))
            self.cluster.start()
        except BaseException:
            self.cluster.close()
            raise
        self.url = self.cluster.environment()["ROTA_TEST_POSTGRES"]
        self.session = None

    def vacuum(self):
        """Its session stays: one that ends would take its CPU from the backends' to what has ended."""
        self.session = self.session or Session(self)
        self.session.sql("VACUUM (ANALYZE) rota.jobs; VACUUM (ANALYZE) rota.tasks; VACUUM rota.counts; VACUUM rota.lanes")

    def children(self):
        pid = self.cluster.process.pid
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def cpu_us(self):
        """A child that ends while we look would be counted twice or not at all, so we look until none did."""
        stat = pathlib.Path(f"/proc/{self.cluster.process.pid}/stat")
        for _ in range(100):
            children, ended = self.children(), stat_cpu_us(stat, ENDED)
            found = {"postmaster": stat_cpu_us(stat), "ended": ended}
            with contextlib.suppress(OSError):
                for child in children:
                    kind = self.kind(child)
                    found[kind] = found.get(kind, 0) + stat_cpu_us(pathlib.Path(f"/proc/{child}/stat"))
                if children == self.children() and ended == stat_cpu_us(stat, ENDED):
                    return found
        raise Wrong("PostgreSQL's processes come and go too fast to be counted")

    def kind(self, pid):
        title = pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").removeprefix("postgres: ")
        return next((kind for kind in self.KINDS if title.startswith(kind)), "backends")

    def stop(self):
        if self.session:
            self.session.stop()
        self.cluster.close()


STORES = {"sqlite": Sqlite, "postgres": Postgres}


def cpu_between(before, after):
    """What each kind has used; what has gone meanwhile is in `ended`."""
    return {kind: us - before.get(kind, 0) for kind, us in after.items()}


@contextlib.contextmanager
def store_running(kind):
    """A fresh store. It lies in the build tree: a real disk, where a sync costs what it costs."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="data-", dir=TREE))
    store = None
    try:
        home.chmod(0o755)  # PostgreSQL runs as another user when this one is root
        store = STORES[kind](home)
        yield store
    finally:
        if store:
            store.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def running(kind, *target_options):
    """A target and a rota on a fresh store."""
    started = []
    with store_running(kind) as store, tempfile.TemporaryFile() as log:
        try:
            started.append(Target(*target_options))
            started.append(Rota(store.url, log))
            yield started[0], started[1], store
            code = started.pop().stop()
            if code != 0:
                raise Wrong(f"rota's graceful stop ended with {code}")
        finally:
            for process in started:
                process.stop()


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
    sign, digits = "≥" if at_least else "≤", 1 if value >= 10 else 2
    print(f"{name:44} {value:>12,.{digits}f}   budget {sign} {budget:>9,.1f}   ratio {ratio:6.2f}", flush=True)
    return {"name": name, "figure": round(value, 2), "budget": budget, "at_least": at_least, "ratio": round(ratio, 3)}


def record(bench, store, figures, detail):
    RESULTS.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = {"bench": bench, "at": now, "commit": commit(), "machine": machine(), "store": store, "figures": figures,
            "detail": detail}
    with open(RESULTS / f"{bench}.jsonl", "a") as out:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
