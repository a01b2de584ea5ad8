"""Memory is bounded by bytes: neither large tasks, nor clients that do not read, nor those that do not send on, fill it."""

import contextlib
import json
import os
import socket

import pytest

from support.wait import wait_until

MIB = 1 << 20
LARGE = 1_000_000
# What a sanitizer keeps besides is not rota's.
SANITIZED = any(name in os.environ.get("ROTA_BIN", "") for name in ("asan", "tsan"))
LIMIT = (2048 if SANITIZED else 256) * MIB


def peak(rota):
    """The most that the process ever had in memory, in bytes."""
    with open(f"/proc/{rota.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


@contextlib.contextmanager
def silent_target():
    """Takes connections and neither reads nor answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


def large_task(url, **fields):
    return {"url": url, "timeout": "10m", "retry": {"max": 0}, "body": "x" * LARGE, **fields}


def submit_large(api, url, count, **fields):
    lot = 4  # a busy machine with a sanitizer takes seconds for many megabytes, and the store gives up after four
    for at in range(0, count, lot):
        answer = api.post("/v1/tasks?brief=1", [large_task(url, **fields)] * min(lot, count - at))
        assert answer.status == 201, answer


class Crowd:
    """Clients that say something and never read."""

    def __init__(self, rota):
        self.where, self.sockets = rota.where(), []

    def say(self, data, count):
        for _ in range(count):
            sock = socket.create_connection(self.where)
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sock.send(data)
            self.sockets.append(sock)

    def get(self, path, count):
        self.say(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), count)

    def submit(self, body, length, count):
        self.say(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (length, body), count)

    def close(self):
        for sock in self.sockets:
            sock.close()


@pytest.fixture
def crowd(rota):
    crowd = Crowd(rota)
    yield crowd
    crowd.close()


def test_what_is_due_and_large_waits_in_the_store(rota, target):
    with silent_target() as url:
        submit_large(rota.api, url, 300)
        busy = lambda: json.loads(rota.api.get("/v1/stats").body)["states"]
        wait_until(lambda: busy()["reserved"] >= 20, "as many are called as there is room for")
        assert busy()["reserved"] < 70
        # A queue of large tasks that hang leaves room for others, and for small ones of its own.
        for queue in ("other", "default"):
            task = rota.api.submit(target.url(f"/ok/{queue}"), queue=queue, priority=9)
            if queue == "other":
                rota.api.finished(task["id"])
    assert peak(rota) < LIMIT, f"{peak(rota) // MIB} MiB"


def test_clients_that_do_not_read_fill_no_memory(rota, target, crowd):
    submit_large(rota.api, target.url("/ok"), 60, **{"in": "1h"})
    task = rota.api.submit(target.url("/ok/read"), **{"in": "1h", "body": "x" * LARGE})
    for _ in range(4):
        crowd.get("/v1/tasks?limit=1000", 40)
        crowd.get(f"/v1/tasks/{task['id']}", 40)
        small = json.dumps({"url": target.url("/ok/lazy"), "in": "1h"}).encode()
        crowd.submit(small, len(small), 20)
        crowd.submit(b'{"url":"' + b"x" * LARGE, 2 * LARGE, 40)
        rota.api.finished(rota.api.submit(target.url("/ok/meanwhile"))["id"])
        assert rota.api.get("/healthz").status == 200
    assert len(rota.api.get("/v1/tasks?limit=1000").body) > 4 * LARGE  # who reads gets it
    assert peak(rota) < LIMIT, f"{peak(rota) // MIB} MiB"
