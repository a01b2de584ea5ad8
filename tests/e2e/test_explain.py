"""Explain says what a job waits for, and then that is what happens."""

from support.client import first_job_id
from support.times import to_ms
from support.wait import wait_until


def explain(api, job_id):
    return api.read(f"/v1/jobs/{job_id}/explain")


def wait_explained(api, job_id, what):
    def look():
        explained = explain(api, job_id)
        return explained if [reason["what"] for reason in explained["waiting_for"]] == [what] else None

    return wait_until(look, f"job {job_id} waits for {what}")


def test_its_time_and_then_it_starts_at_that_time(shared_api, target):
    task = shared_api.submit(target.url("/ok/time"), **{"in": "3s"})
    explained = wait_explained(shared_api, first_job_id(task["id"]), "time")
    assert explained["expected_start"] == task["scheduled_at"]
    assert task["scheduled_at"] in explained["text"] == explained["waiting_for"][0]["detail"]
    shared_api.finished(task["id"])
    (call,) = target.calls(path="/ok/time")
    assert call.arrived >= to_ms(explained["expected_start"])


def test_its_retry_and_then_the_next_attempt_begins_then(shared_api, target):
    task = shared_api.submit(target.url("/fail/1/retry"), retry={"max": 1, "delay": "3s", "jitter": False})
    explained = wait_explained(shared_api, first_job_id(task["id"]), "retry")
    assert explained["state"] in ("delayed", "watching")
    assert "Attempt 1 failed" in explained["text"] and "500" in explained["text"]
    job = shared_api.finished(task["id"])
    assert job["state"] == "success"
    first, second = target.calls(path="/fail/1/retry")
    assert second.arrived >= to_ms(explained["expected_start"]) > first.arrived


def test_its_queue_and_what_it_says_to_do_helps(shared_api, target):
    shared_api.post("/v1/queues/explain-held/pause")
    task = shared_api.submit(target.url("/ok/queue"), queue="explain-held")
    explained = wait_explained(shared_api, first_job_id(task["id"]), "queue_paused")
    assert explained["state"] == "ready"
    assert explained["expected_start"] is None
    assert explained["waiting_for"][0]["id"] == "explain-held"
    assert target.calls(path="/ok/queue") == []
    way = explained["text"].split("POST ")[1].rstrip(".")
    assert shared_api.post(way).status == 200
    assert shared_api.finished(task["id"])["state"] == "success"


def test_its_task_and_what_it_says_to_do_helps(shared_api, target):
    task = shared_api.submit(target.url("/ok/task"), **{"in": "1s"})
    shared_api.post(f"/v1/tasks/{task['id']}/pause")
    explained = wait_explained(shared_api, first_job_id(task["id"]), "task_paused")
    assert explained["waiting_for"][0]["id"] == task["id"]
    way = explained["text"].split("POST ")[1].rstrip(".")
    assert shared_api.post(way).status == 200
    assert shared_api.finished(task["id"])["state"] == "success"


def test_all_that_it_waits_for_and_no_time_while_it_is_held(shared_api, target):
    shared_api.post("/v1/queues/explain-both/pause")
    task = shared_api.submit(target.url("/ok/both"), queue="explain-both", **{"in": "1h"})
    job_id = first_job_id(task["id"])
    explained = explain(shared_api, job_id)
    assert [reason["what"] for reason in explained["waiting_for"]] == ["queue_paused", "time"]
    assert explained["expected_start"] is None and task["scheduled_at"] in explained["text"]
    shared_api.post(f"/v1/tasks/{task['id']}/pause")
    assert [reason["what"] for reason in explain(shared_api, job_id)["waiting_for"]] == ["task_paused", "queue_paused", "time"]
    shared_api.post("/v1/queues/explain-both/resume")
    shared_api.post(f"/v1/tasks/{task['id']}/resume")
    assert explain(shared_api, job_id)["expected_start"] == task["scheduled_at"]


def test_its_attempt_and_the_node_that_makes_it(shared_api, target):
    task = shared_api.submit(target.url("/gate/explain/attempt"), timeout="10m")
    job = shared_api.wait_state(first_job_id(task["id"]), "reserved")
    explained = explain(shared_api, job["id"])
    assert [reason["what"] for reason in explained["waiting_for"]] == ["attempt"]
    assert explained["waiting_for"][0]["id"] == job["executor"]
    assert explained["expected_start"] == job["started_at"]
    assert "Attempt 1" in explained["text"]
    target.open("explain")
    shared_api.finished(task["id"])


def test_what_has_ended_waits_for_nothing(shared_api, target):
    task = shared_api.submit(target.url("/status/500/ended"), retry={"max": 0})
    job = shared_api.finished(task["id"])
    explained = explain(shared_api, job["id"])
    assert (explained["state"], explained["waiting_for"], explained["expected_start"]) == ("aborted", [], None)
    assert "aborted" in explained["text"] and job["reason"] in explained["text"]


def test_a_slot_when_all_are_taken_and_then_it_runs(rota, api, target):
    """The node holds what its share is; one more is due and waits for room, or in its hand for a slot."""
    running = api.submit_many([{"url": target.url("/gate/full/x"), "timeout": "10m"}] * 3000)
    last = first_job_id(running[-1])

    def look():
        explained = explain(api, last)
        return explained if explained["waiting_for"] and explained["waiting_for"][0]["what"] in ("room", "slot", "host") else None

    explained = wait_until(look, "the last one waits for a place")
    assert explained["state"] in ("ready", "watching", "delayed")
    target.open("full")
    assert api.wait_state(last, "success")


def test_nobody(shared_api):
    assert shared_api.get("/v1/jobs/j0000000000001/explain").status == 404
    answer = shared_api.get("/v1/jobs/t0000000000001/explain")
    assert answer.status == 404 and "id of a task" in answer.json["detail"]
