"""What tests do to a cluster must really happen to it."""

import contextlib
import signal
import socket
import subprocess

import pytest

from support.postgres import Cluster
from support.proxy import Proxy
from support.wait import wait_until

PATIENCE_S = 1.0


@pytest.fixture(scope="module")
def cluster():
    with contextlib.closing(Cluster()) as cluster:
        cluster.start()
        yield cluster


def test_a_plain_role_owns_its_database(cluster):
    assert cluster.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'rota'") == "f"
    assert cluster.sql("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'rota'") == "rota"


def test_everything_is_synced(cluster):
    assert [cluster.sql(f"SHOW {name}") for name in ("fsync", "synchronous_commit")] == ["on", "on"]


def test_what_was_committed_survives_a_kill(cluster):
    cluster.sql("CREATE TABLE kept AS SELECT 42 AS n")
    cluster.stop(signal.SIGQUIT)
    assert not cluster.answers()
    cluster.start()
    assert cluster.sql("SELECT n FROM kept") == "42"


def test_a_frozen_one_answers_neither_old_sessions_nor_new_ones(cluster):
    with subprocess.Popen([*cluster.psql(), "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        ask(session)
        assert session.stdout.readline() == "7\n"
        cluster.freeze()
        try:
            ask(session)
            with pytest.raises(subprocess.TimeoutExpired):
                subprocess.run([*cluster.psql(), "-c", "SELECT 1"], timeout=PATIENCE_S)
            assert {state(pid) for pid in [cluster.process.pid, *cluster.children()]} == {"T"}
        finally:
            cluster.thaw()
        assert session.stdout.readline() == "7\n"


def ask(session):
    session.stdin.write("SELECT 7;\n")
    session.stdin.flush()


def state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_refusing_ends_sessions_and_lets_nobody_in(cluster):
    with subprocess.Popen([*cluster.psql(user="rota"), "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as session:
        ask(session)
        assert session.stdout.readline() == "7\n"
        cluster.refuse()
        assert not cluster.lets_in()
        with contextlib.suppress(BrokenPipeError):
            ask(session)
            session.stdin.close()
        assert session.stdout.read() == ""
    cluster.accept()
    assert cluster.lets_in()


def test_schemas_are_apart_and_go_away(cluster):
    with cluster.new_schema() as one, cluster.new_schema() as other:
        assert one != other
        cluster.sql(f"CREATE SCHEMA {one}")
    assert cluster.sql(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{one}'") == "0"


def test_the_proxy_cuts_after_the_commit_it_was_told_of(cluster):
    cluster.sql("CREATE TABLE marks (t text); GRANT ALL ON marks TO rota")
    proxy = Proxy(cluster.port)
    insert = lambda mark: subprocess.run([cluster.tool("psql"), "-X", cluster.url(port=proxy.port), "-c", "BEGIN", "-c",
                                          f"INSERT INTO marks VALUES ('{mark}')", "-c", "COMMIT"], capture_output=True)
    try:
        assert insert("before").returncode == 0
        proxy.lose_answer_to(b"watched")
        assert insert("other").returncode == 0
        assert proxy.cuts == 0
        assert insert("watched").returncode != 0
        assert proxy.cuts == 1
        wait_until(lambda: cluster.sql("SELECT string_agg(t, ' ') FROM marks") == "before other watched", "all are stored")
    finally:
        proxy.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE_S)
