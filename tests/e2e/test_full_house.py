"""All connections are taken: who comes is told so in words, and who asks whether the server lives is answered."""

import contextlib
import socket

import pytest

from support.client import Answer, raw_exchange
from support.notify import Manager
from support.problem import assert_problem
from support.rota import Rota
from support.wait import wait_until

PLACES = 8
HEALTH = ["/healthz", "/readyz", "/metrics"]
BUSY = b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"


@pytest.fixture
def rota(place):
    rota = Rota(**place, options=["--http-connections", str(PLACES), "--http-body-timeout", "60s"])
    rota.start()
    yield rota
    rota.close()


def ask(rota, path, method="GET", more=b""):
    """On a connection of its own."""
    received = raw_exchange(rota.where(), b"%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n%s" % (method.encode(), path.encode(), more))
    assert received, "closed without an answer"
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return Answer(int(lines[0].split()[1]), {name.title(): value for name, value in (line.split(": ", 1) for line in lines[1:])}, body)


@contextlib.contextmanager
def crowd(rota, first=BUSY):
    """Clients that never get to the end of their request take all places."""
    rota.api.close()
    with contextlib.ExitStack() as stack:
        def join():
            client = stack.enter_context(socket.create_connection(rota.where()))
            client.sendall(first)
            return ask(rota, "/v1/stats").status == 503

        wait_until(join, "all places are taken")
        yield


def test_who_comes_is_told_so_and_may_come_again(rota, target):
    with crowd(rota):
        for method, path in [("GET", "/v1/stats"), ("GET", "/v1/events"), ("POST", "/v1/tasks"), ("GET", "/v1/backup")]:
            answer = ask(rota, path, method)
            assert_problem(answer, 503, "busy", words="http.connections")
            assert answer.headers["Retry-After"] == "1" and answer.headers["Connection"] == "close"
    wait_until(lambda: ask(rota, "/v1/stats").status == 200, "there is room again")
    assert rota.api.finished(rota.api.submit(target.url("/ok"))["id"])["state"] == "success"


def test_health_has_room_of_its_own(rota):
    with crowd(rota):
        for _ in range(10):
            for path in HEALTH:
                assert ask(rota, path).status == 200, path


def test_a_second_crowd_does_not_fill_that_room(rota):
    with crowd(rota), contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(rota.where(), timeout=60)) for _ in range(100)]
        for path in HEALTH:
            assert ask(rota, path).status == 200, path
        for client in silent:
            assert client.makefile("rb").readline() == b"HTTP/1.1 503 Service Unavailable\r\n"


def test_streams_of_events_and_bodies_together(rota):
    with contextlib.ExitStack() as stack:
        for _ in range(PLACES // 2):
            stream = stack.enter_context(socket.create_connection(rota.where(), timeout=60))
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(100).startswith(b"HTTP/1.1 200 ")
        with crowd(rota):
            assert ask(rota, "/healthz").status == 200
            assert_problem(ask(rota, "/v1/stats"), 503, "busy")


def test_silent_connections_make_room_for_requests(rota):
    with contextlib.ExitStack() as stack:
        for _ in range(PLACES):
            stack.enter_context(socket.create_connection(rota.where(), timeout=60))
        wait_until(lambda: ask(rota, "/v1/stats").status == 200, "the one that was silent for the longest has made room")


def test_the_command_line_says_what_is_wrong(rota):
    with crowd(rota):
        done = rota.cli("stats")
        assert done.returncode != 0
        assert "http.connections" in done.stderr and "try: the same again in a moment" in done.stderr, done.stderr


@pytest.mark.stores("sqlite")
def test_the_watchdog_is_fed_meanwhile(tmp_path):
    manager = Manager(tmp_path)
    rota = Rota(env=manager.env(watchdog_s=2), options=["--http-connections", str(PLACES), "--http-body-timeout", "60s"])
    rota.start()
    try:
        manager.wait("READY")
        manager.wait("WATCHDOG")
        with crowd(rota):
            before = len(manager.times("WATCHDOG"))
            manager.wait("WATCHDOG", count=before + 8)
            times = manager.times("WATCHDOG")[before:]
            assert all(later - sooner < 2 for sooner, later in zip(times, times[1:])), "the service manager would have ended it"
    finally:
        rota.close()
        manager.close()
