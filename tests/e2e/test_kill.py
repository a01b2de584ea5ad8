"""SIGKILL under load, again and again: nothing is lost, every job has one final state, second runs are explained."""

import os
import random

import pytest

from support.ledger import Ledger
from support.load import Load, settle

ROUNDS = int(os.environ.get("ROTA_KILL_ROUNDS", "10"))


@pytest.mark.slow
def test_killed_under_load_again_and_again(idle_rota, target):
    rota, ledger, dice = idle_rota, Ledger(), random.Random(7)
    rota.start()
    with Load(rota, target, ledger) as load:
        for _ in range(ROUNDS):
            load.more(400)
            load.wait_acked(dice.randrange(5, 250))
            rota.kill()
            rota.start()
        load.more(100)
        load.wait_acked(50)
    assert load.failures == []
    fates = settle(rota, target, ledger)
    print(f"{ROUNDS} kills: {fates}, {len(target.calls())} calls, all accounted for")


def test_a_job_that_runs_at_the_kill_runs_again_and_says_so(rota, target):
    task = rota.api.submit(target.url("/gate/again"), timeout="10m", retry={"max": 0})
    target.wait_calls(1)
    rota.kill()
    rota.start()
    target.wait_calls(2)
    target.open("again")
    job = rota.api.finished(task["id"])
    assert job["state"] == "success"
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["lost", "success"]
    assert [call.attempt for call in target.calls()] == [1, 2]
    assert job["retry_count"] == 0, "a lost attempt is not a try after a failure"


def test_a_job_that_kills_what_runs_it_is_buried(rota, target):
    task = rota.api.submit(target.url("/gate/poison"), timeout="10m")
    job_id = "j" + task["id"][1:]
    for kills in range(3):
        target.wait_calls(kills + 1)
        rota.api.wait_state(job_id, "reserved")
        rota.kill()
        rota.start()
    job = rota.api.finished(task["id"])
    assert job["state"] == "buried"
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["lost"] * 3
    assert len(target.calls()) == 3
    beside = rota.api.submit(target.url("/ok/beside"))
    assert rota.api.finished(beside["id"])["state"] == "success"


def test_on_lost_bury_runs_it_only_once(rota, target):
    task = rota.api.submit(target.url("/gate/once"), timeout="10m", on_lost="bury")
    rota.api.wait_state("j" + task["id"][1:], "reserved")
    target.wait_calls(1)
    rota.kill()
    rota.start()
    assert rota.api.finished(task["id"])["state"] == "buried"
    assert len(target.calls()) == 1


def test_it_is_ready_at_once_after_a_kill_with_work_in_hand(rota, target):
    rota.api.submit_many([{"url": target.url("/ok/planned"), "in": "2s"} for _ in range(500)])
    rota.api.submit_many([{"url": target.url("/gate/held"), "timeout": "10m"} for _ in range(50)])
    target.wait_calls(50, path="/gate/held")
    rota.kill()
    target.open("held")
    rota.start()
    rota.api.wait_idle()
    states = rota.api.read("/v1/stats")["states"]
    assert states["success"] == 550
    assert len({call.job_id for call in target.calls(path="/ok/planned")}) == 500
