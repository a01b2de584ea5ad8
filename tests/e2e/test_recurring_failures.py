"""Schedules while things go wrong: nodes that die, freeze and come back, two hours of downtime, changes that race with picks.
Whatever happens, each instant has exactly one job or lies in one skip.
"""

import os

import pytest

from support.clock import with_clock
from support.crash_points import crash_names
from support.recurring import assert_every_instant_once, nominals, patch, recurring, scheduled, skipped, steer, wait_caught_up
from support.rota import binary
from support.times import to_ms, to_text
from support.wait import now_ms, pass_time, wait_until

MINUTE_MS = 60_000
DOWN_MS = 2 * 3_600_000


def spread(target, count, every_ms, **fields):
    """Documents of so many schedules, whose instants are spread evenly."""
    first = now_ms() // every_ms * every_ms
    return [{"url": target.url(f"/ok/{i}"), "every": f"{every_ms}ms", "anchor": to_text(first + i * every_ms // count), **fields}
            for i in range(count)]


# ---- nodes

COUNT, EVERY_MS = 1000, 20_000
FROZEN_S = 20  # longer than a silence that others take for a death


def wait_more_calls(target, count):
    target.wait_calls(len(target.calls()) + count)


def assert_all_kept(api, task_ids, step_ms):
    for task_id in task_ids:
        wait_caught_up(api, task_id, step_ms)
        assert_every_instant_once(api, task_id, step_ms)
        late = now_ms() - 2 * step_ms
        stuck = [job for at, job in scheduled(api, task_id).items() if at < late and job["state"] not in ("success", "cancelled")]
        assert not stuck, f"task {task_id}: nothing became of {stuck}"


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.stores("postgres")
@pytest.mark.parametrize("misfire", ["one", "all"])
def test_nodes_are_killed_frozen_and_restarted_under_a_thousand_schedules(nodes, target, misfire):
    killed, frozen, restarted = nodes
    task_ids = nodes[0].api.submit_many(spread(target, COUNT, EVERY_MS, misfire=misfire))
    wait_more_calls(target, COUNT // 2)
    killed.kill()
    wait_more_calls(target, COUNT // 2)
    killed.start()
    frozen.frozen_for(FROZEN_S)
    wait_more_calls(target, COUNT // 2)
    restarted.restart()
    wait_more_calls(target, COUNT)
    assert_all_kept(killed.api, task_ids, EVERY_MS)


# ---- crash points

# Met by other tasks only: nothing is left behind here that could be met by a start, and nothing expires.
NOT_MET = ("reap.", "sweep.", "admit.")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in crash_names() if not name.startswith(NOT_MET)])
def test_a_schedule_survives_death_at(name, idle_rota, target):
    """The third time: then what was planned with the task has been carried on. One that may not overlap has its plan read."""
    assert os.environ.get("ROTA_CRASH_POINTS") == "1", "build with -Dcrash_points=true and set ROTA_CRASH_POINTS=1 and ROTA_BIN"
    idle_rota.start()
    rules = [{}, {"misfire": "all"}, {"overlap": "skip"}, {"overlap": "queue"}, {"overlap": "cancel"}]
    tasks = [recurring(idle_rota.api, target.url(f"/ok/{i}"), every="1s", **rule)["id"] for i, rule in enumerate(rules)]
    wait_more_calls(target, len(tasks))
    idle_rota.kill()
    idle_rota.start(crash=f"{name}:3", ready=False)
    wait_until(idle_rota.dead, f"{name} is met")
    idle_rota.forget()
    idle_rota.start()
    wait_more_calls(target, len(tasks))
    for task_id in tasks:
        wait_caught_up(idle_rota.api, task_id, 1000)
        assert_every_instant_once(idle_rota.api, task_id, 1000)
        assert idle_rota.api.task(task_id)["state"] == "active"


# ---- downtime

@pytest.fixture
def after_downtime(place, target):
    """A server that was down for two hours, with one schedule a minute. libfaketime plays the hours before."""
    rota = with_clock(place, "-2h")

    def down(**fields):
        rota.start()
        task = recurring(rota.api, target.url("/ok/down"), every="1m", **fields)
        rota.kill()
        rota.command = [binary()]
        rota.start()
        return rota.api, task

    yield down
    rota.close()


def missed_calls(target, task):
    """How late they were does not count: these are instants that had passed before the server was there again."""
    return sorted(instant for instant in nominals(target.calls(path="/ok/down")) if instant < to_ms(task["created_at"]) + DOWN_MS)


@pytest.mark.stores("sqlite")
@pytest.mark.parametrize("fields, runs, reason", [
    ({"misfire": "skip"}, 0, "misfire"),
    ({"misfire": "one"}, 1, "misfire"),
    ({"misfire": "all"}, 119, None),
    ({"misfire": "all", "misfire_window": "1h"}, 59, "window"),
    ({"misfire": "one", "misfire_window": "1h"}, 1, "misfire"),
])
def test_two_hours_of_downtime(after_downtime, target, fields, runs, reason):
    api, task = after_downtime(**fields)
    wait_caught_up(api, task["id"], MINUTE_MS)
    assert_every_instant_once(api, task["id"], MINUTE_MS)
    left_out = skipped(api, task["id"], MINUTE_MS)
    wait_until(lambda: len(missed_calls(target, task)) >= runs, "what was missed has run")
    ran = missed_calls(target, task)
    assert len(ran) == len(set(ran)) and not left_out & set(ran)
    assert runs <= len(ran) <= runs + 1  # the start may take a while
    assert {skip["reason"] for skip in api.task(task["id"])["skips"]} >= ({reason} if reason else set())
    if not reason:
        assert not left_out


# ---- changes

@pytest.mark.slow
def test_changes_of_a_document_race_with_picks(rota, target):
    task = recurring(rota.api, target.url("/ok/raced"), every="1s")
    changes = 0
    while len(target.calls(path="/ok/raced")) < 8:
        answer = patch(rota.api, task["id"], {"headers": {"x-change": str(changes)}})
        assert answer.status == 200, answer
        changes += 1
    assert changes > 8
    wait_caught_up(rota.api, task["id"], 1000)
    assert_every_instant_once(rota.api, task["id"], 1000)
    assert rota.api.task(task["id"])["skips"] == []
    assert rota.api.task(task["id"])["version"] == changes + 1


@pytest.mark.slow
def test_changes_of_a_schedule_race_with_picks(rota, target):
    """Even seconds are in both schedules, so each of them has one job. An odd one has one at most."""
    anchor = now_ms() // 2000 * 2000
    task = recurring(rota.api, target.url("/ok/moved"), every="2s", anchor=to_text(anchor))
    every = ["1s", "2s"]
    while len(target.calls(path="/ok/moved")) < 10:
        answer = patch(rota.api, task["id"], {"every": every[0]})
        assert answer.status == 200, answer
        every.reverse()
    assert patch(rota.api, task["id"], {"every": "2s"}).status == 200
    wait_caught_up(rota.api, task["id"], 2000)
    kept = {at for at, job in scheduled(rota.api, task["id"]).items() if job["state"] != "cancelled"}
    even = sorted(instant for instant in kept if (instant - anchor) % 2000 == 0)
    assert even == list(range(even[0], even[-1] + 1, 2000))
    called = nominals(target.calls(path="/ok/moved"))
    assert len(called) == len(set(called))
    assert {instant for instant in even if instant < now_ms() - 2000} <= set(called)


@pytest.mark.slow
def test_pause_and_resume_race_with_picks(rota, target):
    task = recurring(rota.api, target.url("/ok/steered"), every="1s")
    turns = 0
    while len(target.calls(path="/ok/steered")) < 6:
        steer(rota.api, task["id"], "pause")
        steer(rota.api, task["id"], "resume", {"missed": "all"})
        turns += 1
        pass_time(0.01 * (turns % 30))
    wait_caught_up(rota.api, task["id"], 1000)
    assert_every_instant_once(rota.api, task["id"], 1000)
