"""The probes must see each broken promise about a database that is away."""

import contextlib
import json

import pytest

from support.ledger import Ledger
from support.probe import Outage, Probe, Probes, Reply
from support.target import Target

GONE, BACK, OVER = 100.0, 110.0, 112.0
OUTAGE = Outage(GONE - 0.1, GONE, BACK - 0.1, BACK, OVER)


class Nowhere:
    where = ("127.0.0.1", 9)


def check(*replies):
    """What the probes say of one node that gave these answers."""
    probes = Probes([], None, None)
    probe = Probe(Nowhere, None, "a node")
    probe.replies = [Reply("a request", sent, answered, status, retry_after) for sent, answered, status, retry_after in replies]
    probes.all = [probe]
    probes.check([OUTAGE], "away")


FINE = [(90, 90.1, 201, None), (GONE + 1, GONE + 5, 503, "1"), (BACK - 1, BACK + 0.5, 201, None), (120, 120.1, 201, None)]


def test_what_was_promised_is_fine_and_how_long_it_took_is_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ROTA_FIGURES", str(tmp_path / "figures"))
    check(*FINE)
    told = capsys.readouterr().out
    assert "slowest answer: 4.0 s (budget 5 s)" in told and "works again after: 0.5 s (budget 2 s)" in told
    figures = [json.loads(line) for line in open(tmp_path / "figures")]
    assert [(one["seconds"], one["budget"]) for one in figures] == [(4, 5), (0.5, 2)]


@pytest.mark.parametrize(
    "broken, words",
    [
        ((GONE + 1, GONE + 2, 503, None), "retry_after=None"),
        ((GONE + 1, GONE + 2, 500, "1"), "status=500"),
        ((GONE + 1, GONE + 2, 201, None), "the database was away"),
        ((OVER + 0.1, OVER + 0.2, 503, "1"), "the database was there"),
        ((GONE - 2, GONE - 1, 503, "1"), "the database was there"),
    ],
)
def test_a_broken_promise_is_seen(broken, words):
    with pytest.raises(AssertionError, match=words):
        check(*FINE, broken)


def test_no_work_at_all_is_seen():
    with pytest.raises(AssertionError, match="never worked again"):
        check(*FINE[:2])


def test_a_server_that_is_not_there_is_seen():
    target = Target()
    with contextlib.closing(target), Probes([Nowhere], target, Ledger()) as probes:
        for probe in probes.all:
            probe.thread.join()
    with pytest.raises(AssertionError, match="always there"):
        probes.check([], "away")
