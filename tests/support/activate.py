"""Passes listening sockets to a program as systemd does: activate.py FD,FD,… COMMAND… They become 3, 4, …; the process keeps its id."""

import os
import sys

fds = [int(fd) for fd in sys.argv[1].split(",")]
spare = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]  # out of the way first
for i, fd in enumerate(spare):
    os.dup2(fd, 3 + i, inheritable=True)
    os.close(fd)
env = dict(os.environ, LISTEN_FDS=str(len(fds)))
env.setdefault("LISTEN_PID", str(os.getpid()))
os.execve(sys.argv[2], sys.argv[2:], env)
