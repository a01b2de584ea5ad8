"""Commands about a recurring task of which hundreds of jobs have not ended: each of them follows."""

import datetime

import pytest

from support.recurring import patch, recurring, steer
from support.wait import wait_until

DAYS, AT_ONCE = 250, 100
FIRST = datetime.datetime(2025, 1, 1, 12, tzinfo=datetime.timezone.utc)


def text(day):
    return (FIRST + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def backfilled(api, task_id):
    return [job for job in api.read(f"/v1/tasks/{task_id}/jobs?limit=1000")["items"] if job["trigger"] == "backfill"]


@pytest.fixture
def task(shared_api, target, request):
    """A daily task with 250 jobs for days that have passed, which wait in a queue that is paused."""
    name = f"many.{request.node.callspec.params['store']}.{request.function.__name__[-20:]}"
    assert shared_api.post(f"/v1/queues/{name}/pause").status == 200
    task = recurring(shared_api, target.url(f"/ok/{name}"), cron="0 12 * * *", queue=name)
    for first in range(0, DAYS, AT_ONCE):
        last = min(first + AT_ONCE, DAYS) - 1
        body = {"from": text(first), "to": text(last), "max_active": AT_ONCE}
        assert shared_api.post(f"/v1/tasks/{task['id']}/backfill", body).status == 202
        wait_until(lambda: len(backfilled(shared_api, task["id"])) == last + 1, "its jobs wait")
    yield task
    shared_api.request("DELETE", f"/v1/tasks/{task['id']}?running=1")
    shared_api.post(f"/v1/queues/{name}/resume")


def states(api, task):
    return {job["state"] for job in backfilled(api, task["id"])}


def test_a_change_reaches_each_of_them(shared_api, target, task):
    other = task["queue"] + ".other"
    assert shared_api.post(f"/v1/queues/{other}/pause").status == 200
    assert patch(shared_api, task["id"], {"queue": other, "priority": 9}).status == 200
    shared_api.post(f"/v1/queues/{task['queue']}/resume")  # nothing is left in it
    (old, new) = ([queue for queue in shared_api.read("/v1/queues")["items"] if queue["queue"] == name] for name in (task["queue"], other))
    assert not any(queue["pending"] for queue in old) and new[0]["pending"] >= DAYS
    assert target.calls(path=f"/ok/{task['queue']}") == []
    shared_api.post(f"/v1/queues/{other}/resume")
    wait_until(lambda: states(shared_api, task) == {"success"})
    calls = target.calls(path=f"/ok/{task['queue']}")
    assert len(calls) == len(backfilled(shared_api, task["id"])) == DAYS


def test_a_pause_holds_each_of_them_until_it_is_resumed(shared_api, target, task):
    steer(shared_api, task["id"], "pause")
    shared_api.post(f"/v1/queues/{task['queue']}/resume")
    assert states(shared_api, task) <= {"delayed", "ready", "watching"}
    assert target.calls(path=f"/ok/{task['queue']}") == []
    steer(shared_api, task["id"], "resume")
    wait_until(lambda: states(shared_api, task) == {"success"})


def test_a_cancel_ends_each_of_them(shared_api, target, task):
    steer(shared_api, task["id"], "cancel")
    assert len(backfilled(shared_api, task["id"])) == DAYS and states(shared_api, task) == {"cancelled"}
    shared_api.post(f"/v1/queues/{task['queue']}/resume")
    assert target.calls(path=f"/ok/{task['queue']}") == []


def test_a_delete_leaves_none_of_them(shared_api, target, task):
    assert shared_api.request("DELETE", f"/v1/tasks/{task['id']}").status in (200, 204)
    assert shared_api.get(f"/v1/tasks/{task['id']}").status == 404
    assert not any(queue["pending"] for queue in shared_api.read("/v1/queues")["items"] if queue["queue"] == task["queue"])
