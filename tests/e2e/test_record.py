"""What a record says of its changes, and of what every attempt was answered."""

from support.client import first_job_id
from support.times import to_ms
from support.wait import wait_until


def test_each_failed_attempt_keeps_what_it_was_answered(shared_api, target):
    task = shared_api.submit(target.url("/status/500/answered"), retry={"max": 2, "delay": "10ms", "jitter": False})
    job = shared_api.finished(task["id"])
    assert job["state"] == "aborted" and len(job["attempts"]) == 3
    for attempt in job["attempts"]:
        assert (attempt["status"], attempt["response_truncated"]) == (500, False)
        assert attempt["response"] == f"no {attempt['number']}"
    assert all("response" not in attempt for attempt in shared_api.task(task["id"])["job"]["attempts"])


def test_an_attempt_without_an_answer_has_none(shared_api):
    task = shared_api.submit("http://127.0.0.1:1/", retry={"max": 1, "delay": "10ms"})
    job = shared_api.finished(task["id"])
    assert [(attempt["outcome"], attempt["response"]) for attempt in job["attempts"]] == [("connect_error", None)] * 2


def test_a_retry_keeps_the_answer_while_it_waits(shared_api, target):
    task = shared_api.submit(target.url("/status/503/waits"), retry={"max": 1, "delay": "1h"})
    job_id = first_job_id(task["id"])
    job = wait_until(lambda: (lambda job: job if job["attempts"] and job["state"] == "delayed" else None)(shared_api.job(job_id)), "it waits")
    (attempt,) = job["attempts"]
    assert attempt["status"] == 503 and attempt["response"]
    assert job["updated_at"] == attempt["completed_at"]
    cancelled = shared_api.post(f"/v1/jobs/{job_id}/cancel").json
    assert cancelled["attempts"] == job["attempts"]
    assert cancelled["updated_at"] == cancelled["completed_at"] > job["updated_at"]


def test_a_task_says_when_it_was_changed(shared_api, target):
    task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
    assert task["updated_at"] == task["created_at"]
    assert to_ms(task["job"]["updated_at"]) >= to_ms(task["created_at"])
    at = [task["updated_at"]]
    for method, path, body in (("PATCH", "", {"name": "x"}), ("POST", "/pause", None), ("POST", "/resume", None)):
        task = shared_api.request(method, f"/v1/tasks/{task['id']}{path}", body).json
        assert task == shared_api.task(task["id"])
        at.append(task["updated_at"])
        if path != "/pause":  # which touches no job
            assert to_ms(task["job"]["updated_at"]) >= to_ms(at[-2])
    assert at == sorted(at) and at[0] < at[-1]
    assert shared_api.post(f"/v1/tasks/{task['id']}/run").status == 200
    assert shared_api.finished(task["id"])["updated_at"] > at[-1]


def test_a_heartbeat_is_a_change(shared_api, target):
    task = shared_api.submit(target.url("/later/heartbeat"), timeout="1h")
    job_id = first_job_id(task["id"])
    job = wait_until(lambda: (lambda job: job if job["lease_until"] else None)(shared_api.job(job_id)), "it has a lease")
    (call,) = target.calls(path="/later/heartbeat")
    later = shared_api.post(f"/v1/jobs/{job_id}/heartbeat", {"token": call.header("Rota-Token"), "progress": 1}).json
    assert to_ms(later["updated_at"]) == to_ms(later["lease_until"]) - 3600 * 1000
    assert later["updated_at"] >= job["updated_at"] >= job["started_at"]
    shared_api.post(f"/v1/jobs/{job_id}/complete", {"token": call.header("Rota-Token")})
    assert shared_api.job(job_id)["updated_at"] == shared_api.job(job_id)["completed_at"]
