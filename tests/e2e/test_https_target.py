"""Targets that speak TLS: called when their certificate is for the name that was asked for and signed by somebody trusted, and
otherwise not told a word."""

import contextlib

import pytest

from support.rota import Rota
from support.tls import Authority, Flood, TlsTarget
from support.wait import wait_until

pytestmark = pytest.mark.stores("sqlite")  # what a target speaks is nothing to the store

NO_RETRY = {"max": 0}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def api(authority):
    rota = Rota(env={"SSL_CERT_FILE": authority.ca})
    rota.start()
    yield rota.api
    rota.close()


def run(api, url, **members):
    task = api.submit(url, retry=NO_RETRY, timeout="20s", **members)
    return api.finished(task["id"])


def tls_target(pem, **how):
    return contextlib.closing(TlsTarget(pem, **how))


def test_it_is_called_and_its_connection_kept(api, authority, store):
    with tls_target(authority.sign("good", "DNS:localhost,IP:127.0.0.1")) as target:
        for _ in range(5):
            assert run(api, target.url("/name?q=1"))["state"] == "success"
        assert target.requests == [("/name?q=1", 0)] * 5
        assert target.connections == 1
        assert run(api, target.url("/address", host="127.0.0.1"))["state"] == "success"
        assert target.connections == 2, "who was asked for by another name is asked again who it is"


def test_large_bodies_go_both_ways(api, authority, store):
    with tls_target(authority.sign("large", "DNS:localhost"), give=300_000) as target:
        job = run(api, target.url(), body="y" * 900_000)
        assert job["state"] == "success" and target.requests == [("/", 900_000)]


@pytest.mark.parametrize(
    "names, at, words",
    [
        ("DNS:other.example", None, "ostname mismatch"),
        ("IP:127.0.0.1", None, "ostname mismatch"),
        ("DNS:localhost", "2020-01-01", "expired"),
    ],
)
def test_a_certificate_that_does_not_fit_is_a_tls_error(api, authority, store, names, at, words):
    with tls_target(authority.sign("unfit", names, at=at)) as target:
        job = run(api, target.url("/secret"))
        (attempt,) = job["attempts"]
        assert (job["state"], attempt["outcome"]) == ("aborted", "tls_error")
        assert "the certificate is not trusted" in attempt["reason"] and words in attempt["reason"]
        assert target.requests == []


def test_a_certificate_of_somebody_unknown_is_a_tls_error(api, tmp_path, store):
    stranger = Authority(str(tmp_path), name="somebody else")
    with tls_target(stranger.sign("unknown", "DNS:localhost")) as target:
        (attempt,) = run(api, target.url())["attempts"]
        assert attempt["outcome"] == "tls_error" and "certificate" in attempt["reason"]
        assert target.requests == []


def test_an_answer_that_is_cut_off_is_not_taken_for_a_whole_one(api, authority, store):
    with tls_target(authority.sign("rude", "DNS:localhost"), rude=True) as target:
        (attempt,) = run(api, target.url())["attempts"]
        assert (attempt["outcome"], attempt["status"]) == ("bad_response", 200)


def test_a_peer_that_never_lets_a_handshake_end_holds_up_nobody(api, authority, store):
    """One thread makes all calls: it must not go on reading for as long as there is something to read."""
    with contextlib.closing(Flood()) as flood, tls_target(authority.sign("beside", "DNS:localhost")) as target:
        stuck = api.submit(f"https://localhost:{flood.port}/", retry=NO_RETRY, timeout="60s")
        wait_until(lambda: flood.sent > 100, "the flood has begun", 60)
        for _ in range(3):
            before = flood.sent
            assert run(api, target.url())["state"] == "success"
            wait_until(lambda: flood.sent > before or flood.left.is_set(), "it is being read, too", 60)
        assert api.post(f"/v1/tasks/{stuck['id']}/cancel").status in (200, 202)
        wait_until(flood.left.is_set, "the call was given up", 60)
