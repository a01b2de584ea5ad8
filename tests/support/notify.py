"""The service manager's side: a socket that hears what a service says, sockets passed to it, and a way to let one thread hang."""

import ctypes
import os
import pathlib
import socket
import sys
import threading
import time

from support.rota import binary
from support.wait import wait_until

LAUNCHER = pathlib.Path(__file__).resolve().with_name("activate.py")


class Manager:
    """Hears the datagrams of sd_notify and keeps them with the time they came."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.heard = []  # of (time, {name: value})
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            text = self.socket.recv(65536).decode()
            if text == "end":
                return
            self.heard.append((time.monotonic(), dict(line.split("=", 1) for line in text.splitlines())))

    def env(self, watchdog_s=None):
        env = {"NOTIFY_SOCKET": self.path}
        return dict(env, WATCHDOG_USEC=str(int(watchdog_s * 1e6))) if watchdog_s else env

    def times(self, name, value="1"):
        return [at for at, message in list(self.heard) if message.get(name) == value]

    def now(self):
        return time.monotonic()

    def names(self):
        """What was said, in order, without signs of life and status lines."""
        return [name for _, message in list(self.heard) for name in message if name in ("READY", "RELOADING", "STOPPING")]

    def message(self, name):
        return next(message for _, message in list(self.heard) if name in message)

    def wait(self, name, count=1):
        wait_until(lambda: len(self.times(name)) >= count, f"{name}=1 is said {count} times")

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b"end", self.path)
        self.thread.join()
        self.socket.close()


def activated(listeners):
    """The command and descriptors of a server to which these sockets are passed."""
    fds = [listener.fileno() for listener in listeners]
    command = [sys.executable, str(LAUNCHER), ",".join(map(str, fds)), binary()]
    return {"command": command, "fds": fds}


# One thread of a process is stopped by the debugger's interface; the others go on.
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def thread_named(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    raise AssertionError(f"process {pid} has no thread {name}")


class Held:
    """While this is open, one thread of a process hangs. To be used on one thread only: a tracer is a thread."""

    def __init__(self, pid, name):
        self.thread = thread_named(pid, name)

    def __enter__(self):
        ptrace(PTRACE_SEIZE, self.thread)
        ptrace(PTRACE_INTERRUPT, self.thread)
        os.waitpid(self.thread, WALL)
        return self

    def __exit__(self, *_):
        ptrace(PTRACE_DETACH, self.thread)
