"""Death at every named crash point of the flow: the same promises as for a kill, at the worst possible moments.

The names are those of the table in src/base/crash.h; name:N is the Nth time. The server under test must be built with
-Dcrash_points=true; ROTA_CRASH_POINTS=1 says that it is. Without it these tests are red, not skipped: a crash test that never
crashed anything proves nothing.
"""

import os

import pytest

from support.crash_points import HEADER, crash_names
from support.ledger import Ledger
from support.load import Load, settle
from support.wait import wait_until

# Met once in a start or now and then: for these, dying at the first time is all there is.
RARE = ("reap.", "sweep.")


def met_names():
    """The load has one-time tasks only. What only recurring ones meet is in test_recurring_failures.py."""
    return [name for name in crash_names() if not name.startswith("recur.")]


def deaths():
    """Each point when it is first met, and those in the way of every task also in full flight."""
    often = [f"{name}:40" for name in met_names() if not name.startswith(RARE)]
    return met_names() + often


@pytest.fixture(autouse=True)
def built_with_crash_points():
    assert os.environ.get("ROTA_CRASH_POINTS") == "1", "build with -Dcrash_points=true and set ROTA_CRASH_POINTS=1 and ROTA_BIN"


def test_there_are_crash_points():
    names = crash_names()
    assert names, f"no row X(name) was found in {HEADER}"
    assert len(set(names)) == len(names)


def deaths_in_flight():
    """Once each: on PostgreSQL a dead life is noticed by its silence, which takes a while."""
    return [name if name.startswith(RARE) else f"{name}:40" for name in met_names()]


@pytest.mark.slow
@pytest.mark.stores("sqlite")
@pytest.mark.parametrize("name", deaths())
def test_death_at(name, idle_rota, target):
    die_at(name, idle_rota, target)


@pytest.mark.slow
@pytest.mark.stores("postgres")
@pytest.mark.parametrize("name", deaths_in_flight())
def test_death_on_postgres_at(name, idle_rota, target):
    die_at(name, idle_rota, target)


def die_at(name, rota, target):
    ledger = Ledger()
    leave_work_behind(rota, target, ledger)
    rota.start(crash=name, ready=False)
    with Load(rota, target, ledger, clients=3, limit=300) as load:
        wait_for_death(rota, load, name)
        rota.start()
        load.more(30)
        load.wait_acked(20)
    assert load.failures == []
    settle(rota, target, ledger)


def leave_work_behind(rota, target, ledger):
    """A dead life with jobs planned, in hand and running, so that the next one meets what a start can meet."""
    rota.start()
    running = ledger.new_submit()  # whatever the others have come to
    ledger.acked(running, rota.api.submit(target.url(f"/gate/left?{running.marker}"))["id"])
    with Load(rota, target, ledger, clients=3, limit=120, seed=2) as load:
        load.wait_acked(80)
        target.wait_calls(path="/gate/left")
        rota.kill()
    target.open("left")
    assert load.failures == []


def wait_for_death(rota, load, name):
    """Most points are met under load. One that is not may be met by a graceful stop."""

    def fed_to_death():
        if load.left <= 0:
            load.more(50)
        return rota.dead() or load.failures

    try:
        wait_until(fed_to_death, f"{name} is met", timeout=40, interval=0.05)
    except AssertionError:
        rota.terminate()
        wait_until(rota.dead, "the server has ended")
        assert rota.process.returncode != 0, f"crash point {name} was never met, neither under load nor in a graceful stop"
    assert load.failures == []
    rota.forget()
