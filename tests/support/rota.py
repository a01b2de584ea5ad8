"""One rota server process: started, asked, stopped, killed, frozen, and its log shown when a test fails."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from support.client import Api, NOT_REACHED
from support.wait import pass_time, wait_until

REPO = pathlib.Path(__file__).resolve().parents[2]
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)")
LOG_SHOWN = 16_000

# A test run that is itself killed must not leave servers behind. The process keeps its id: setpriv replaces itself.
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]


def binary():
    path = pathlib.Path(os.environ.get("ROTA_BIN", REPO / "build" / "src" / "rota"))
    path = path if path.is_absolute() else REPO / path
    assert path.exists(), f"{path} is not there: build it, or set ROTA_BIN"
    return str(path)


def scratch_dir():
    """On a real disk: durability on a tmpfs would prove nothing."""
    base = os.environ.get("ROTA_TEST_DIR")
    if not base:
        base = REPO / "build" / "e2e" if (REPO / "build").is_dir() else "/var/tmp"
    os.makedirs(base, exist_ok=True)
    return tempfile.mkdtemp(prefix="rota-", dir=base)


class Rota:
    running = []  # every server that a failing test should tell of

    def __init__(self, data=None, store=None, command=None, options=(), env=None, fds=()):
        """`store`: a URL instead of a directory of its own. `options`, `env`: more of them for `serve`. `fds`: it inherits them."""
        self.home = None if data else scratch_dir()
        self.data = str(data or os.path.join(self.home, "data"))
        self.options = [*(["--store", store] if store else ["--data", self.data]), *options]
        self.command = command or [binary()]
        self.env, self.fds = env or {}, fds
        self.log_path = (self.home or scratch_dir()) + "/log"
        self.process = None
        self.port = None
        self.api = Api(self.where)
        Rota.running.append(self)

    def where(self):
        if self.port is None:
            raise ConnectionRefusedError("the server is not running")
        return "127.0.0.1", self.port

    @property
    def url(self):
        return "http://%s:%d" % self.where()

    def start(self, crash=None, ready=True):
        """Starts it on a free port. With ready=False it may die before it answers; then False is returned."""
        assert self.process is None, "it is running"
        env = dict(os.environ, NO_COLOR="1", **self.env)
        env.pop("ROTA_CRASH", None)
        if crash:
            env["ROTA_CRASH"] = crash
        log = open(self.log_path, "ab")
        began = log.tell()
        args = DIES_WITH_US + self.command + ["serve", "--listen", "127.0.0.1:0", *self.options]
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, pass_fds=self.fds)
        log.close()
        up = wait_until(lambda: self.look_for_address(began) or self.dead(), "the server prints its address or ends")
        lives = up is not True and self.wait_ready()
        assert lives or not ready, f"the server ended with {self.process.returncode} instead of starting:\n{self.log_text()}"
        return lives

    def look_for_address(self, began):
        with open(self.log_path, "rb") as log:
            log.seek(began)
            found = ADDRESS.search(log.read())
        self.port = int(found.group(1)) if found else None
        return self.port

    def wait_ready(self):
        def answers():
            try:
                return self.api.get("/readyz").status == 200
            except NOT_REACHED:
                return False

        wait_until(lambda: answers() or self.dead(), "the server is ready")
        return not self.dead()

    def dead(self):
        return self.process is None or self.process.poll() is not None

    def forget(self):
        """Its process is gone: the next start() may come."""
        code = self.process.wait()
        self.api.close()
        self.process, self.port = None, None
        return code

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_end(self):
        wait_until(self.dead, "the server has ended")
        return self.forget()

    def stop(self):
        """Gracefully. Sanitizers make the exit code tell of leaks and races too."""
        self.terminate()
        code = self.wait_end()
        assert code == 0, f"a graceful stop ended with {code}:\n{self.log_text()}"

    def kill(self):
        self.process.kill()
        return self.forget()

    def restart(self):
        self.stop()
        self.start()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def frozen_for(self, seconds):
        self.freeze()
        try:
            pass_time(seconds)
        finally:
            self.thaw()

    def cli(self, *args, timeout=120, input=None, env=None):
        """Runs a client verb against this server; returns the CompletedProcess with text."""
        return run_cli(*args, server=self.url, timeout=timeout, input=input, env=env)

    @contextlib.contextmanager
    def cli_begun(self, *args):
        """A client verb that goes on while the test does; it must have ended by itself when the block does."""
        env = dict(os.environ, NO_COLOR="1", ROTA_SERVER=self.url)
        command = [*DIES_WITH_US, binary(), *args]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
            try:
                yield process
            finally:
                process.kill()

    def log_text(self):
        try:
            with open(self.log_path, "rb") as log:
                return log.read().decode(errors="replace")[-LOG_SHOWN:]
        except FileNotFoundError:
            return "(no log)"

    def close(self, stop=True):
        """The end of a test: a server that still runs must be able to stop gracefully."""
        try:
            if self.process and not self.dead():
                self.stop() if stop else self.kill()
        finally:
            if self.process:
                self.process.kill()
                self.forget()
            Rota.running.remove(self)
            shutil.rmtree(os.path.dirname(self.log_path), ignore_errors=True)


def run_cli(*args, server=None, timeout=120, input=None, env=None):
    full = dict(os.environ, NO_COLOR="1", **(env or {}))
    full.pop("ROTA_CRASH", None)
    if server:
        full["ROTA_SERVER"] = server
    return subprocess.run([binary(), *args], capture_output=True, text=True, timeout=timeout, input=input, env=full)
