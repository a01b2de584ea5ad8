"""The target must be what it says: the end-to-end tests judge rota by it."""

import http.client
import socket

import pytest

from support.client import Api
from support.target import Target
from support.wait import NeverHappened, wait_until


@pytest.fixture
def target():
    target = Target()
    yield target
    target.close()


def call(target, path, body=None, job="j1", timeout=30):
    api = Api(("127.0.0.1", target.port), timeout=timeout)
    return api.request("POST", path, body, {"Rota-Job-Id": job, "Rota-Attempt": "1"})


def test_a_call_is_written_down_byte_for_byte(target):
    answer = call(target, "/echo/x?m1", b'{"n":  1e400}')
    assert answer.body == b'{"n":  1e400}'
    (made,) = target.calls(path="/echo")
    assert (made.method, made.path, made.marker, made.body) == ("POST", "/echo/x?m1", "m1", b'{"n":  1e400}')
    assert made.job_id == "j1" and made.attempt == 1 and made.status == 200
    assert made.arrived <= made.ended


def test_it_fails_the_first_calls_of_each_job(target):
    assert [call(target, "/fail/2/429", job="a").status for _ in range(3)] == [429, 429, 200]
    assert call(target, "/fail/2/429", job="b").status == 429


def test_connections_are_kept_alive(target):
    api = Api(("127.0.0.1", target.port))
    api.get("/ok")
    kept = api.connection.sock
    api.get("/ok")
    assert api.connection.sock is kept


def test_a_gate_holds_the_call_until_it_is_opened(target):
    with pytest.raises(socket.timeout):
        call(target, "/gate/g", timeout=0.2)
    (made,) = target.calls()
    wait_until(lambda: made.ended, "the target notices that the caller has gone")
    assert made.status is None
    target.open("g")
    assert call(target, "/gate/g").status == 200


@pytest.mark.parametrize("path", ["/reset", "/junk", "/close", "/short"])
def test_broken_answers_are_broken(target, path):
    with pytest.raises((http.client.HTTPException, OSError)):
        call(target, path)
    assert len(target.calls(path=path)) == 1


def test_dripping_never_ends(target):
    connection = socket.create_connection(("127.0.0.1", target.port))
    connection.sendall(b"GET /drip HTTP/1.1\r\n\r\n")
    seen = b""
    while seen.count(b".") < 4:
        seen += connection.recv(1000)
    connection.close()
    wait_until(lambda: target.calls()[0].ended, "the target notices that the caller has gone")


def test_retry_after_is_said_once_a_job(target):
    first, second = call(target, "/retry-after/7"), call(target, "/retry-after/7")
    assert (first.status, first.headers["Retry-After"], second.status) == (503, "7", 200)


def test_chunked_bodies_are_put_together(target):
    connection = socket.create_connection(("127.0.0.1", target.port))
    connection.sendall(b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    connection.sendall(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    while connection.recv(1000):
        pass
    connection.close()
    assert target.calls()[0].body == b"abcde"


def test_waiting_in_vain_says_for_what():
    with pytest.raises(NeverHappened, match="pigs fly"):
        wait_until(lambda: False, "pigs fly", timeout=0.01)
