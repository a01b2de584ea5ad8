"""A backup of a live database is whole, and a server started on it goes on from there."""

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess

import pytest

from support.problem import assert_problem
from support.rota import Rota
from support.wait import wait_until


@pytest.mark.stores("sqlite")
def test_a_copy_made_under_load_is_one_moment_and_can_be_served(api, target, tmp_path):
    before = api.submit_many([{"url": target.url("/ok/backup"), "in": "1h"}] * 2000)
    done = api.submit(target.url("/ok/done"))
    api.finished(done["id"])
    answer = api.get("/v1/backup")
    assert (answer.status, answer.type) == (200, "application/octet-stream")
    after = api.submit(target.url("/ok/after"), **{"in": "1h"})
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "rota.db").write_bytes(answer.body)
    with sqlite3.connect(copy / "rota.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other = Rota(data=str(copy))
    other.start()
    try:
        states = other.api.read("/v1/stats")["states"]
        assert (states["delayed"], states["success"]) == (len(before), 1)
        assert other.api.task(before[0])["state"] == "active"
        assert other.api.get(f"/v1/tasks/{after['id']}").status == 404
        assert other.api.post(f"/v1/tasks/{before[0]}/run").status == 200
        assert other.api.finished(before[0])["state"] == "success"
    finally:
        other.close()


@pytest.mark.stores("sqlite")
def test_nothing_is_left_behind(rota, api):
    api.get("/v1/backup")
    assert not [name for name in os.listdir(rota.data) if "backup" in name]


@pytest.mark.stores("sqlite")
def test_head_makes_no_copy(api):
    answer = api.request("HEAD", "/v1/backup")
    assert (answer.status, answer.type, answer.body) == (200, "application/octet-stream", b"")
    assert "rota.db" in answer.headers["Content-Disposition"]
    assert answer.headers["Content-Length"] is None, "only a copy could tell"


BIG = 24 << 20


@pytest.fixture
def lazy_rota(place):
    rota = Rota(**place, options=["--http-idle-timeout", "5s"])
    rota.start()
    for _ in range(BIG >> 22):
        rota.api.submit_many([{"url": "http://127.0.0.1:9/", "in": "1h", "body": "x" * (1 << 19)}] * 8)
    yield rota
    rota.close()


@contextlib.contextmanager
def lazy_client(rota):
    """Asks for a backup and reads nothing of it, so that it is more than what can be under way."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(rota.where())
        client.sendall(b"GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield client


def open_copies(rota):
    """Copies that have no name any more, but take up room as long as the server has them open."""
    links = [os.path.join(f"/proc/{rota.process.pid}/fd", fd) for fd in os.listdir(f"/proc/{rota.process.pid}/fd")]
    names = [os.readlink(link) for link in links if os.path.islink(link)]
    return [name for name in names if "backup.tmp" in name]


@pytest.mark.stores("sqlite")
class TestOneAtATime:
    def refused(self, rota):
        answer = rota.api.get("/v1/backup")
        assert_problem(answer, 503, "busy", words="one at a time")
        assert answer.headers["Retry-After"] == "1"
        done = rota.cli("backup", os.path.join(rota.home, "copy.db"))
        assert done.returncode == 3 and "one at a time" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(rota.home, "copy.db"))

    def test_while_one_is_fetched_another_is_refused(self, lazy_rota):
        with lazy_client(lazy_rota) as client:
            client.recv(100)
            self.refused(lazy_rota)
            assert len(open_copies(lazy_rota)) == 1
        wait_until(lambda: not open_copies(lazy_rota), "the copy is gone with its client")
        assert len(lazy_rota.api.get("/v1/backup").body) > BIG
        assert not open_copies(lazy_rota)

    def test_a_crowd_that_reads_nothing_has_one_copy_and_not_for_long(self, lazy_rota):
        with contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(lazy_client(lazy_rota)) for _ in range(10)]
            lines = [client.recv(12) for client in crowd]
            assert sorted(lines) == [b"HTTP/1.1 200"] + [b"HTTP/1.1 503"] * 9
            assert len(open_copies(lazy_rota)) == 1
            wait_until(lambda: not open_copies(lazy_rota), "who takes nothing loses it")
            assert lazy_rota.api.get("/v1/backup").status == 200


@pytest.mark.stores("sqlite")
def test_a_copy_that_would_fill_the_disk_is_not_begun(lazy_rota):
    assert os.geteuid() == 0, "mounting a small disk needs root"
    lazy_rota.stop()
    disk = os.path.join(lazy_rota.home, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "rota-test", disk], check=True)
    try:
        data = shutil.copytree(lazy_rota.data, os.path.join(disk, "data"))
        with open(os.path.join(disk, "filler"), "wb") as filler:
            filler.write(b"x" * (20 << 20))
        rota = Rota(data=data)
        rota.start()
        try:
            assert_problem(rota.api.get("/v1/backup"), 503, "storage_full", words=["KiB beside the database", "free"])
            assert rota.api.post("/v1/tasks", {"url": "http://127.0.0.1:9/", "in": "1h"}).status == 201
            os.unlink(os.path.join(disk, "filler"))
            assert rota.api.get("/v1/backup").status == 200
        finally:
            rota.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.stores("postgres")
def test_postgres_has_its_own_tools(shared_api):
    answer = shared_api.get("/v1/backup")
    assert (answer.status, answer.json["code"]) == (409, "unsupported")
    assert "pg_dump" in answer.json["detail"]
