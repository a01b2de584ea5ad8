"""A private PostgreSQL cluster for one program.

postgres.py [--pooler] PROGRAM [ARG…] makes a cluster in a temporary directory, runs the program with these variables and takes
all away again:

ROTA_TEST_POSTGRES       a URL of a role without privileges that owns its database, over a socket in the directory
ROTA_TEST_POSTGRES_PORT  its port, also on 127.0.0.1
ROTA_TEST_POSTGRES_DIR   the directory; data/postmaster.pid tells the process

With --pooler there is a PgBouncer before it that gives out two connections by transaction, and the URL leads there:

ROTA_TEST_POOLER_PORT    its port on 127.0.0.1; ROTA_TEST_POSTGRES_PORT still is the server's

A server that ends (a test kills it, or says `-m immediate`) is started again at once, unless there is a file `down` in the
directory: then when that is gone. Everything is written and synced as it should be, but in memory where there is /dev/shm; a bench
sets ROTA_TEST_POSTGRES_ROOT to a directory on a disk. To try another version by hand, set ROTA_TEST_POSTGRES_BIN to where its
`initdb` and `postgres` are.
"""

import contextlib
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

START_SECONDS_MAX = 60
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{dir}'
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


def binaries():
    given = os.environ.get("ROTA_TEST_POSTGRES_BIN")
    if given:
        return pathlib.Path(given)
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    if shutil.which("postgres"):
        return pathlib.Path(shutil.which("postgres")).parent
    sys.exit("postgres.py: PostgreSQL's server is not installed (Debian: apt-get install postgresql)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """PostgreSQL refuses to run as root, so root lends it the user that Debian's package made."""

    def __init__(self, pooled=False):
        root = os.environ.get("ROTA_TEST_POSTGRES_ROOT") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rota-pg-", dir=root))
        self.data, self.port, self.bin, self.process = self.dir / "data", free_port(), binaries(), None
        self.pooler, self.pooler_port = None, free_port() if pooled else None
        self.user = {}
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.dir, owner.pw_uid, owner.pw_gid)
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self.dir.chmod(0o755)
        self.run(self.bin / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write(SETTINGS.format(dir=self.dir, port=self.port))
        trusted = (self.data / "pg_hba.conf").read_text()
        (self.data / "pg_hba.conf").write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + trusted)

    def tool(self, name):
        """Of this version, or the one that is installed: not everything that has a server has its clients too."""
        return self.bin / name if (self.bin / name).exists() else shutil.which(name)

    def run(self, *command):
        result = subprocess.run([str(part) for part in command], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, **self.user)
        if result.returncode:
            sys.exit(f"postgres.py: {command[0]} failed:\n{result.stdout.decode(errors='replace')}")

    def start(self):
        log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen([str(self.bin / "postgres"), "-D", str(self.data)], cwd="/", stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log, **self.user)
        log.close()

    def answers(self):
        ready = subprocess.run([str(self.tool("pg_isready")), "-q", "-h", str(self.dir), "-p", str(self.port)], cwd="/")
        return ready.returncode == 0

    def start_first(self):
        self.start()
        end = time.monotonic() + START_SECONDS_MAX
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("postgres.py: the server did not start:\n" + (self.dir / "log").read_text(errors="replace"))
            time.sleep(0.05)
        self.psql("CREATE ROLE rota LOGIN")
        self.psql("CREATE DATABASE rota OWNER rota")
        if self.pooler_port:
            self.start_pooler()

    def start_pooler(self):
        (self.dir / "pooler.users").write_text('"rota" ""\n')
        (self.dir / "pooler.ini").write_text(POOLER_SETTINGS.format(dir=self.dir, port=self.port, pooler_port=self.pooler_port))
        with open(self.dir / "pooler.log", "ab") as log:
            self.pooler = subprocess.Popen(["/usr/sbin/pgbouncer", "-q", str(self.dir / "pooler.ini")], cwd="/",
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.user)
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.pooler_port)).close()
                return
            if self.pooler.poll() is not None or time.monotonic() > end:
                sys.exit("postgres.py: the pooler did not start:\n" + (self.dir / "pooler.log").read_text(errors="replace"))
            time.sleep(0.02)

    def psql(self, sql):
        self.run(self.tool("psql"), "-q", "-X", "-h", self.dir, "-p", self.port, "-U", "postgres", "-d", "postgres", "-c", sql)

    def keep_up(self):
        """Starts the server again when it has ended and nobody wants it down."""
        if self.process.poll() is not None and not (self.dir / "down").exists():
            self.start()

    def environment(self):
        url = f"postgres://rota@/rota?host={self.dir}&port={self.port}"
        found = {"ROTA_TEST_POSTGRES": url, "ROTA_TEST_POSTGRES_PORT": str(self.port), "ROTA_TEST_POSTGRES_DIR": str(self.dir)}
        if self.pooler_port:
            found["ROTA_TEST_POSTGRES"] = f"postgres://rota@127.0.0.1:{self.pooler_port}/rota?sslmode=disable"
            found["ROTA_TEST_POOLER_PORT"] = str(self.pooler_port)
        return found

    def stop(self):
        if self.pooler:
            self.pooler.kill()
            self.pooler.wait()
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    pooled = sys.argv[1:2] == ["--pooler"]
    command = sys.argv[1 + pooled:]
    if not command:
        sys.exit("usage: postgres.py [--pooler] PROGRAM [ARG…]")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    cluster = Cluster(pooled)
    try:
        cluster.start_first()
        program = subprocess.Popen(command, env={**os.environ, **cluster.environment()})
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                sys.exit(abs(program.wait(0.1)))
            cluster.keep_up()
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
