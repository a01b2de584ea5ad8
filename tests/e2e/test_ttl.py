"""How long a finished task is kept."""

from support.client import first_job_id
from support.wait import wait_until


def is_gone(api, task_id):
    task, job = api.get(f"/v1/tasks/{task_id}"), api.get(f"/v1/jobs/{first_job_id(task_id)}")
    return task.status == job.status == 404


def test_no_time_at_all_deletes_at_the_end(shared_api, target):
    task_id = shared_api.submit(target.url("/ok/gone"), ttl="0s")["id"]
    wait_until(lambda: is_gone(shared_api, task_id), "the task is gone")
    assert len(target.calls(path="/ok/gone")) == 1, "it ran before it went"


def test_a_short_time_deletes_later(shared_api, target):
    task_id = shared_api.submit(target.url("/ok/short"), ttl="4s")["id"]
    assert shared_api.finished(task_id)["state"] == "success"
    wait_until(lambda: is_gone(shared_api, task_id), "the task is gone")


def test_a_task_that_is_not_final_is_kept(shared_api, target):
    task_id = shared_api.submit(target.url("/gate/ttl/kept"), ttl="0s", timeout="10m")["id"]
    gone = shared_api.submit(target.url("/ok/beside"), ttl="0s")["id"]
    wait_until(lambda: is_gone(shared_api, gone), "the other task is gone")
    assert shared_api.first_job(task_id)["state"] in ("watching", "reserved")
    target.open("ttl")
    wait_until(lambda: is_gone(shared_api, task_id), "the task is gone")


def test_a_cancelled_one_goes_too(shared_api, target):
    task_id = shared_api.submit(target.url("/ok/cancelled"), ttl="0s", **{"in": "1h"})["id"]
    assert shared_api.post(f"/v1/tasks/{task_id}/cancel").status in (200, 404)
    wait_until(lambda: is_gone(shared_api, task_id), "the task is gone")


def test_for_ever_and_the_default_are_kept(shared_api, target):
    for_ever = shared_api.submit(target.url("/ok/kept"), ttl=None)["id"]
    default = shared_api.submit(target.url("/ok/kept"))["id"]
    gone = shared_api.submit(target.url("/ok/kept"), ttl="0s")["id"]
    wait_until(lambda: is_gone(shared_api, gone), "the one without time is gone")
    assert shared_api.finished(for_ever)["state"] == "success"
    assert shared_api.finished(default)["state"] == "success"
    assert shared_api.task(for_ever)["ttl"] is None


def test_a_key_outlives_its_task(shared_api, target):
    body = {"url": target.url("/ok/key"), "ttl": "0s", "key": "outlives"}
    task_id = shared_api.post("/v1/tasks", body).json["id"]
    wait_until(lambda: is_gone(shared_api, task_id), "the task is gone")
    again = shared_api.post("/v1/tasks", body)
    assert again.status == 200, again
    assert again.json["id"] == task_id
    assert len(target.calls(path="/ok/key")) == 1


def test_the_counters_forget_with_it(api, target):
    api.submit_many([{"url": target.url("/ok/count"), "ttl": "0s"} for _ in range(100)])
    target.wait_calls(100)
    wait_until(lambda: sum(api.read("/v1/stats")["states"].values()) == 0, "no job is counted any more")
