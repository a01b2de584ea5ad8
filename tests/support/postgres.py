"""A private PostgreSQL cluster: for a test, for one program, or for a person.

postgres.py [--keep DIR | --pooler] PROGRAM [ARG…] starts a cluster, runs the program with these variables and stops the cluster
when it has ended:

ROTA_TEST_POSTGRES       a URL of a role without privileges that owns its database, over a socket in the directory
ROTA_TEST_POSTGRES_PORT  its port, also on 127.0.0.1
ROTA_TEST_POSTGRES_DIR   the directory; data/postmaster.pid tells the process

With --pooler there is a PgBouncer before it that gives out two connections by transaction, and the URL leads there:

ROTA_TEST_POOLER_PORT    its port on 127.0.0.1; ROTA_TEST_POSTGRES_PORT still is the server's

A server that ends (a test kills it, or says `-m immediate`) is started again at once, unless there is a file `down` in the
directory: then when that is gone. Everything is written and synced as it should be, but in a temporary directory that goes away
in the end, and in memory where there is /dev/shm; a bench sets ROTA_TEST_POSTGRES_ROOT to a directory on a disk. To try
another version by hand, set ROTA_TEST_POSTGRES_BIN to where its `initdb` and `postgres` are.

With --keep the cluster lives in DIR and is found there again the next time: for ./dev run --postgres. Nobody but its owner and
root can reach it. `{url}` in the program's arguments becomes its URL.
"""

import contextlib
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

START_SECONDS_MAX = 60
SETTINGS = """
unix_socket_directories = '{dir}'
unix_socket_permissions = {permissions}
listen_addresses = '{addresses}'
port = {port}
max_connections = 100
shared_buffers = 32MB
fsync = on
synchronous_commit = on
max_wal_size = 256MB
log_min_messages = fatal
client_min_messages = warning
timezone = UTC
"""
LET_IN = "host all guarded 127.0.0.1/32 scram-sha-256\nlocal all all trust\nhost all all 127.0.0.1/32 trust\n"
LET_ONLY_US_IN = "local all postgres trust\nlocal all all reject\nhost all all 127.0.0.1/32 reject\n"

# Few connections for many clients, so that a transaction seldom has the connection of the one before it. Only the last line is
# what a person would set, too: a server that is back is noticed after a second and not after fifteen.
POOLER_SETTINGS = """
[databases]
* = host={dir} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {pooler_port}
unix_socket_dir =
auth_type = trust
auth_file = {dir}/pooler.users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
server_login_retry = 1
"""


class Failed(Exception):
    """PostgreSQL is not installed, or did not do what it was told."""


def binaries():
    given = os.environ.get("ROTA_TEST_POSTGRES_BIN")
    if given:
        return pathlib.Path(given)
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    if shutil.which("postgres"):
        return pathlib.Path(shutil.which("postgres")).parent
    raise Failed("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_owner(directory):
    """How a command is run as the user who owns the cluster. PostgreSQL refuses root, so root lends it the user of Debian's
    package, and the right to get into the directory if that lies where only root can."""
    if os.geteuid():
        return ["setpriv"]
    owner = pwd.getpwnam("postgres")
    command = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    may_get_in = subprocess.run([*command, "test", "-x", str(directory)], cwd="/").returncode == 0
    return command if may_get_in else [*command, "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]


class Cluster:
    """`keep`: the directory of one that outlives us. `pooled`: with a PgBouncer before it."""

    def __init__(self, keep=None, pooled=False):
        self.bin, self.process, self.keep = binaries(), None, keep
        self.pooler, self.pooler_port = None, free_port() if pooled else None
        self.frozen, self.up_since, self.schemas = False, None, itertools.count(1)
        if keep:
            self.dir, self.port = pathlib.Path(keep).resolve(), 5432  # a part of the socket's name, nothing more
            self.dir.mkdir(parents=True, exist_ok=True)
        else:
            root = os.environ.get("ROTA_TEST_POSTGRES_ROOT") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
            self.dir, self.port = pathlib.Path(tempfile.mkdtemp(prefix="rota-pg-", dir=root)), free_port()
        self.data = self.dir / "data"
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres", "postgres")
        self.dir.chmod(0o700 if keep else 0o755)
        self.as_owner = as_owner(self.dir)
        if not self.data.exists():
            self.make()
        self.configure()

    def make(self):
        """Under its name it is whole, even if somebody pulls the plug meanwhile."""
        new = self.dir / "new"
        shutil.rmtree(new, ignore_errors=True)
        how = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", *([] if self.keep else ["--no-sync"])]
        self.run(self.bin / "initdb", "-D", new, *how)
        new.rename(self.data)

    def configure(self):
        settings = SETTINGS.format(dir=self.dir, port=self.port, addresses="" if self.keep else "127.0.0.1",
                                   permissions="0700" if self.keep else "0777")
        (self.data / "rota.conf").write_text(settings)
        conf = self.data / "postgresql.conf"
        if "rota.conf" not in conf.read_text():
            with open(conf, "a") as file:
                file.write("include 'rota.conf'\n")
        os.chmod(self.data / "rota.conf", 0o644)
        (self.data / "pg_hba.conf").write_text(LET_IN)

    def run(self, *command):
        """Runs it as the owner and returns what it said."""
        result = subprocess.run([*self.as_owner, "--", *map(str, command)], cwd="/", stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if result.returncode:
            raise Failed(f"{command[0]} failed:\n{result.stdout}")
        return result.stdout

    # Up and down.

    def launch(self):
        """It gets a session of its own, so that Ctrl-C does not take the database away from who is about to use it for the last
        time; it ends with us all the same."""
        with open(self.dir / "log", "ab") as log:
            self.log_began = log.tell()
            command = [*self.as_owner, "--pdeathsig", "QUIT", "--", str(self.bin / "postgres"), "-D", str(self.data)]
            self.process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)

    def start(self):
        """Returns when it answers."""
        self.launch()
        end = time.monotonic() + START_SECONDS_MAX
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                said = (self.dir / "log").read_bytes()[self.log_began:].decode(errors="replace")
                raise Failed(f"the server did not start:\n{said}")
            time.sleep(0.01)
        self.up_since = time.monotonic()
        if not self.sql("SELECT 1 FROM pg_roles WHERE rolname = 'rota'", "postgres"):
            self.sql("CREATE ROLE rota LOGIN", "postgres")
        if not self.sql("SELECT 1 FROM pg_database WHERE datname = 'rota'", "postgres"):
            self.sql("CREATE DATABASE rota OWNER rota", "postgres")
        if self.pooler_port and not self.pooler:
            self.start_pooler()

    def start_pooler(self):
        (self.dir / "pooler.users").write_text('"rota" ""\n')
        (self.dir / "pooler.ini").write_text(POOLER_SETTINGS.format(dir=self.dir, port=self.port, pooler_port=self.pooler_port))
        with open(self.dir / "pooler.log", "ab") as log:
            command = [*self.as_owner, "--pdeathsig", "KILL", "--", "/usr/sbin/pgbouncer", "-q", str(self.dir / "pooler.ini")]
            self.pooler = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.pooler_port)).close()
                return
            if self.pooler.poll() is not None or time.monotonic() > end:
                raise Failed("the pooler did not start:\n" + (self.dir / "pooler.log").read_text(errors="replace"))
            time.sleep(0.02)

    def answers(self):
        command = [self.tool("pg_isready"), "-q", *self.way_in("postgres", "postgres")]
        return subprocess.run(command, cwd="/").returncode == 0

    def stop(self, how=signal.SIGINT):
        """SIGINT is PostgreSQL's `-m fast`, SIGQUIT its `-m immediate`: as after a crash, it has to recover at the next start."""
        if self.process is None:
            return
        self.thaw()
        self.process.send_signal(how)
        try:
            self.process.wait(START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def close(self):
        if self.pooler:
            self.pooler.kill()
            self.pooler.wait()
        self.stop(signal.SIGINT if self.keep else signal.SIGQUIT)
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def keep_up(self):
        """Starts the server again when it has ended and nobody wants it down."""
        if self.process.poll() is not None and not (self.dir / "down").exists():
            self.launch()

    # What else can happen to it.

    def freeze(self):
        """All of it: a stopped postmaster alone would leave its sessions at work. It goes first, so that it makes no more."""
        self.frozen = True
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        for child in self.children():
            os.kill(child, signal.SIGSTOP)

    def thaw(self):
        if not self.frozen:
            return
        self.frozen = False
        for child in self.children():
            os.kill(child, signal.SIGCONT)
        self.process.send_signal(signal.SIGCONT)

    def children(self):
        pid = self.process.pid
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def refuse(self):
        """Ends all sessions of the role rota, and turns it away from now on."""
        self.hba(LET_ONLY_US_IN)
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rota'")

    def accept(self):
        self.hba(LET_IN)

    def hba(self, rules):
        """Returns when the new rules are in force: the postmaster reads them a moment after it was told to."""
        (self.data / "pg_hba.conf").write_text(rules)
        self.sql("SELECT pg_reload_conf()")
        end = time.monotonic() + START_SECONDS_MAX
        while self.lets_in() != (rules == LET_IN):
            if time.monotonic() > end:
                raise Failed("pg_hba.conf was not read again")
            time.sleep(0.01)

    def lets_in(self):
        command = [*self.psql(user="rota"), "-c", "SELECT 1"]
        return subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    # How to get in.

    def psql(self, user="postgres", database="rota"):
        """The command; more options may follow."""
        return [self.tool("psql"), "-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", *self.way_in(user, database)]

    def tool(self, name):
        """Of this version, or the one that is installed: not everything that has a server has its clients too."""
        return str(self.bin / name) if (self.bin / name).exists() else shutil.which(name)

    def way_in(self, user, database):
        return ["-h", str(self.dir), "-p", str(self.port), "-U", user, "-d", database]

    def sql(self, text, database="rota"):
        return self.run(*self.psql(database=database), "-c", text).strip()

    def url(self, schema=None, port=None):
        """Over the socket; with `port` over TCP, to PostgreSQL's own or a proxy's."""
        more = f"&schema={schema}" if schema else ""
        if port:
            return f"postgres://rota@127.0.0.1:{port}/rota?sslmode=disable{more}"
        return f"postgres://rota@/rota?host={urllib.parse.quote(str(self.dir))}&port={self.port}{more}"

    @contextlib.contextmanager
    def new_schema(self):
        """A name; what was made under it goes away in the end."""
        schema = f"test_{next(self.schemas)}"
        yield schema
        self.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")

    def environment(self):
        name = "ROTA_TEST_POSTGRES"
        found = {name: self.url(), f"{name}_PORT": str(self.port), f"{name}_DIR": str(self.dir)}
        if self.pooler_port:
            found.update({name: self.url(port=self.pooler_port), "ROTA_TEST_POOLER_PORT": str(self.pooler_port)})
        return found


def run_program(cluster, command):
    """Signals are passed on to the program, which has a session of its own: so Ctrl-C reaches it once, and the cluster is stopped
    after it."""
    command = [part.replace("{url}", cluster.url()) for part in command]
    cluster.start()
    if cluster.keep:
        print(f"PostgreSQL runs in {cluster.dir}; another node on it:\n"
              f"  build/src/rota serve --listen 127.0.0.1:7071 --store '{cluster.url()}'", file=sys.stderr, flush=True)
    program = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], env={**os.environ, **cluster.environment()},
                               start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: program.send_signal(number))
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return abs(program.wait(0.1))
        cluster.keep_up()


def main():
    args = sys.argv[1:]
    keep, pooled = args[1] if args[:1] == ["--keep"] else None, args[:1] == ["--pooler"]
    command = args[2 if keep else int(pooled):]
    if not command:
        sys.exit("usage: postgres.py [--keep DIR | --pooler] PROGRAM [ARG…]")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    cluster = None
    try:
        cluster = Cluster(keep, pooled)
        sys.exit(run_program(cluster, command))
    except Failed as failure:
        sys.exit(f"postgres.py: {failure}")
    finally:
        if cluster:
            cluster.close()


if __name__ == "__main__":
    main()
