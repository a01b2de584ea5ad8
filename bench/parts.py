"""What the benches are made of: the processes they start, where CPU is read, how a figure is written down.

PostgreSQL's CPU is that of its postmaster and of all its children, those that have ended included: each task costs what vacuum,
checkpoints and WAL cost behind it, too.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import re
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
TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")
READY_SECONDS, DRAIN_SECONDS, STUCK_SECONDS = 60, 120, 30

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


def ms(us):
    return f"{us / 1000:.2f} ms"


def disk_syncs():
    """How long the disk takes to make 48 KiB durable, as in a commit of some dozen pages, in a file that is there already."""
    taken, count, piece = [], 300, os.urandom(48 << 10)
    with tempfile.TemporaryFile(dir=TREE) as file:
        os.pwrite(file.fileno(), bytes(count * len(piece)), 0)
        os.fsync(file.fileno())
        for i in range(count):
            os.pwrite(file.fileno(), piece, i * len(piece))
            began = time.monotonic()
            os.fdatasync(file.fileno())
            taken.append((time.monotonic() - began) * 1e6)
    taken.sort()
    seen = {"p50_us": taken[count // 2], "p99_us": taken[count * 99 // 100]}
    print(f"  the disk makes 48 KiB durable in {ms(seen['p50_us'])} p50, {ms(seen['p99_us'])} p99", flush=True)
    return seen


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
                found[name] = found.get(name, 0) + thread_cpu_us(task)
        return found

    def switches(self):
        """How often its threads went to sleep, which is how often they were woken."""
        texts = [(task / "status").read_text() for task in (self.folder / "task").iterdir()]
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1]) for text in texts)

    def memory_mib(self, what="VmRSS"):
        """VmRSS: what it has now. VmHWM: the most it had. Pss: what it has, and its share of what others have, too."""
        file = "smaps_rollup" if what == "Pss" else "status"
        return round(int(re.search(rf"^{what}:\s+(\d+) kB", (self.folder / file).read_text(), re.M)[1]) / 1024, 1)

    def memory_peak_reset(self):
        (self.folder / "clear_refs").write_text("5")

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


def thread_cpu_us(folder):
    """Of one thread, or of a process that has no other. The kernel counts nanoseconds, unless it was built without; then ticks."""
    try:
        return int((folder / "schedstat").read_text().split()[0]) / 1000
    except FileNotFoundError:
        return stat_cpu_us(folder / "stat")


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

    def reset(self):
        ask(self.port, "/reset")

    def wait(self, count):
        """Until so many calls have been timed; what was seen then."""
        seen, since = self.stats(), time.monotonic()
        while seen["count"] < count:
            time.sleep(0.2)
            now = self.stats()
            since = time.monotonic() if now["count"] > seen["count"] else since
            if time.monotonic() > since + STUCK_SECONDS:
                raise Wrong(f"only {now['count']:,} of {count:,} were called")
            seen = now
        return seen


class Rota(Process):
    def __init__(self, store, log):
        self.port, self.log = free_port(), log
        command = [TREE / "src" / "rota", "serve", "--listen", f"127.0.0.1:{self.port}", "--store", store]
        began = time.monotonic()
        super().__init__(command, stdout=log, stderr=log)
        wait_until(self.ready, "rota answers /readyz", READY_SECONDS)
        self.ready_s = time.monotonic() - began

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
            answer = json.loads(connection.getresponse().read())
            if "ids" not in answer:
                raise Wrong(f"tasks were refused: {answer}")
            return answer["ids"]

    def done(self):
        return self.stats()["states"].get("success", 0)

    def drain(self):
        """Waits until nothing is pending; the stats then."""
        def empty():
            stats = self.stats()
            return stats if stats["pending"] == 0 else None
        return wait_until(empty, "nothing is pending", DRAIN_SECONDS)


class Load(Process):
    def __init__(self, rota, *options):
        super().__init__([TREE / "bench" / "bench-load", "--port", rota.port, *options], stdout=subprocess.PIPE)

    def end(self):
        """It sends no more; its result is that of what it has sent."""
        self.child.send_signal(signal.SIGTERM)

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

    def __init__(self, url, *options, env=None):
        command = [TREE / "bench" / "bench_store", "--store", url, *options]
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

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
    # A server that has been up for a while writes into log files that it has. A new one would make each when it comes to it, and
    # every commit would wait for that, 15 ms in every second.
    LOG_MADE = ("DO $$ BEGIN FOR i IN 1..48 LOOP PERFORM pg_logical_emit_message(false, 'bench', ''), pg_switch_wal(); END LOOP;"
                " END $$")
    KINDS = ["checkpointer", "background writer", "walwriter", "autovacuum", "logical replication"]

    def __init__(self, home):
        os.environ["ROTA_TEST_POSTGRES_ROOT"] = str(home)
        self.cluster = postgres.Cluster()
        try:
            with open(self.cluster.data / "postgresql.conf", "a") as conf:
                conf.write(self.SETTINGS + os.environ.get("ROTA_BENCH_POSTGRES_SETTINGS", ""))
            self.cluster.start()
            self.cluster.sql(self.LOG_MADE)
            self.cluster.sql("CHECKPOINT")
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
                    found[kind] = found.get(kind, 0) + thread_cpu_us(pathlib.Path(f"/proc/{child}"))
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


# ---- who used how much CPU

class Meter:
    """CPU from when it is made until stop(), split into rota's threads, the database's processes, targets and generator."""

    def __init__(self, rota, store, targets=(), load=None):
        self.rota, self.store, self.targets, self.load = rota, store, targets, load
        self.before = self.look()

    def look(self):
        return {"rota": self.rota.cpu_us(), "threads": self.rota.threads_us(), "database": self.store.cpu_us(),
                "target": sum(target.cpu_us() for target in self.targets), "load": self.load.cpu_us() if self.load else 0}

    def stop(self):
        self.after = self.look()
        return self

    def each(self, tasks, load_us=0):
        """For each task, also in words; load_us: of a generator that has ended meanwhile."""
        def one(us):
            return round(us / max(1, tasks), 2)

        def more(key):
            return {name: one(us) for name, us in cpu_between(self.before[key], self.after[key]).items()}

        found = {"rota_us": one(self.after["rota"] - self.before["rota"]), "threads_us": more("threads"), "postgres_us": more("database")}
        found["database_us"] = round(sum(found["postgres_us"].values()), 2)
        found["target_us"] = one(self.after["target"] - self.before["target"])
        found["load_us"] = one(self.after["load"] - self.before["load"] + load_us)
        print(f"  CPU µs/task: rota {found['rota_us']:.1f}: {split_words(found['threads_us'])}")
        if found["postgres_us"]:
            print(f"  CPU µs/task: PostgreSQL {found['database_us']:.1f}: {split_words(found['postgres_us'])}")
        print(f"  CPU µs/task: target {found['target_us']:.1f}, generator {found['load_us']:.1f}", flush=True)
        return found


def split_words(parts):
    return ", ".join(f"{name} {us:.2f}" for name, us in sorted(parts.items(), key=lambda row: -row[1]) if us > 0)
