"""What was not started by its not_after is cancelled, and says why."""

import json

import pytest

from support.client import first_job_id
from support.times import to_ms, to_text
from support.wait import now_ms, wait_until


@pytest.fixture
def held(shared_api, request):
    queue = "expiry-" + request.node.name.split("[")[0][:40]
    assert shared_api.post(f"/v1/queues/{queue}/pause").status == 200
    yield queue
    shared_api.post(f"/v1/queues/{queue}/resume")


def says_expired(job):
    return job["state"] == "cancelled" and job["reason"] == "expired"


def test_a_held_job_expires(shared_api, target, held):
    task = shared_api.submit(target.url("/ok/expires"), queue=held, not_after="500ms")
    job = shared_api.wait_state(first_job_id(task["id"]), "cancelled")
    assert says_expired(job), json.dumps(job)
    assert to_ms(job["completed_at"]) >= to_ms(job["scheduled_at"]) + 500
    assert shared_api.task(task["id"])["state"] == "cancelled"
    assert shared_api.post(f"/v1/queues/{held}/resume").status == 200
    beside = shared_api.submit(target.url("/ok/beside"), queue=held)
    shared_api.finished(beside["id"])
    assert target.calls(path="/ok/expires") == []


def test_a_time_may_be_given_instead(shared_api, target, held):
    end = now_ms() + 600
    task = shared_api.submit(target.url("/ok/expires"), queue=held, not_after=to_text(end))
    job = shared_api.wait_state(first_job_id(task["id"]), "cancelled")
    assert says_expired(job)
    assert to_ms(job["completed_at"]) >= end


def test_a_job_that_starts_in_time_does_not_expire(shared_api, target):
    task = shared_api.submit(target.url("/slow/800/in-time"), not_after="30s")
    assert shared_api.finished(task["id"])["state"] == "success"


def test_a_running_job_is_not_cut_short(shared_api, target):
    task = shared_api.submit(target.url("/gate/expiry/running"), not_after="1500ms", timeout="10m")
    (call,) = target.wait_calls(path="/gate/expiry/running")
    beyond = shared_api.submit(target.url("/ok/beyond"), **{"in": "2500ms"})
    shared_api.finished(beyond["id"])
    assert call.ended is None
    target.open("expiry")
    assert shared_api.finished(task["id"])["state"] == "success"


def test_a_job_that_expired_while_the_server_was_down_is_not_started(rota, target):
    task = rota.api.submit(target.url("/ok/down"), not_after="100ms", **{"in": "1500ms"})
    rota.kill()
    over = to_ms(task["scheduled_at"]) + 100
    wait_until(lambda: now_ms() > over, "its time is over")
    rota.start()
    job = rota.api.wait_state(first_job_id(task["id"]), "cancelled")
    assert says_expired(job)
    assert target.calls() == []
