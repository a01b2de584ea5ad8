"""Explain says what a job waits for, and then that is what happens."""

import pytest

from conftest import started
from support.client import first_job_id
from support.rota import Rota
from support.times import to_ms
from support.wait import now_ms, wait_until


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


@pytest.mark.slow
class TestUnderLoad:
    """A known backlog: one host that may have two calls at once, each of half a second, and a backlog for it: what holds a job is named, and it starts
    about when it is said to. The waits are long against what a crowded machine adds, and a prediction may be wrong by half."""

    PER_HOST, TAKES_MS, COUNT = 2, 500, 80

    @staticmethod
    def backlog(rota, target, path, count):
        """The jobs of a backlog, in the order in which they were given."""
        return [first_job_id(task) for task in rota.api.submit_many([{"url": target.url(path)}] * count)]

    @staticmethod
    def check(rota, jobs, *limits):
        """Asks of some that are far apart, and compares what was said with when they started. Before calls have ended nobody can
        tell, and for a moment there may be room."""
        said = {}
        for job in jobs:
            def look():
                asked, explained = now_ms(), explain(rota.api, job)
                held = any(reason.get("limit") in limits for reason in explained["waiting_for"])
                return (asked, explained) if held and explained["expected_start"] else None

            said[job] = wait_until(look, f"job {job} waits for {limits}, and it is known for how long")
        rota.api.wait_idle()
        for job, (asked, explained) in said.items():
            waited = to_ms(rota.api.job(job)["started_at"]) - asked
            expected = to_ms(explained["expected_start"]) - asked
            assert waited / 2 <= expected <= waited * 2, f"it waited {waited} ms, said were {expected}: {explained}"

    def test_a_host_that_has_all_it_may_have(self, place, target):
        with started([Rota(**place, options=["--calls-per-host", str(self.PER_HOST)])]) as [rota]:
            jobs = self.backlog(rota, target, f"/slow/{self.TAKES_MS}/host", self.COUNT)
            self.check(rota, [jobs[self.COUNT // 2], jobs[-1]], "calls.per_host")

    def test_a_node_that_has_all_calls_it_may_have(self, place, target):
        with started([Rota(**place, options=["--calls-max", "4"])]) as [rota]:
            jobs = self.backlog(rota, target, f"/slow/{self.TAKES_MS}/max", self.COUNT)
            self.check(rota, [jobs[self.COUNT // 2], jobs[-1]], "calls.max", "queue_share", "host_share")

    def test_a_node_that_has_all_jobs_in_hand_it_may_have(self, place, target):
        with started([Rota(**place, options=["--jobs-in-hand", "64"])]) as [rota]:
            jobs = self.backlog(rota, target, "/slow/1000/hand", 480)
            self.check(rota, [jobs[240], jobs[-1]], "jobs.in_hand", "in_hand_share")

    def test_the_share_of_one_host_by_its_number(self, rota, target):
        target_jobs = self.backlog(rota, target, "/slow/2000/share", 600)
        explained = wait_until(lambda: self.held(rota.api, target_jobs[-1]), "the last one waits for its host")
        assert explained["waiting_for"][0]["limit"] == "host_share" and "has 256 of the 256 calls running" in explained["text"]

    @staticmethod
    def held(api, job):
        explained = explain(api, job)
        return explained if [reason["what"] for reason in explained["waiting_for"]] == ["host"] else None


class TestElsewhere:
    @pytest.mark.stores("postgres")
    def test_what_another_node_has_in_hand_only_that_one_can_speak_of(self, divided, target):
        asked, _, runner = divided
        tasks = asked.api.submit_many([{"url": target.url("/gate/elsewhere"), "timeout": "10m"}] * 600)
        job = first_job_id(tasks[-1])
        explained = wait_until(lambda: self.is_elsewhere(asked.api, job), "the other node has it in hand")
        assert explained["expected_start"] is None and "only that node can say" in explained["text"]
        target.open("elsewhere")

    @staticmethod
    def is_elsewhere(api, job):
        explained = explain(api, job)
        return explained if "has it in hand" in explained["text"] else None


def test_nobody(shared_api):
    assert shared_api.get("/v1/jobs/j0000000000001/explain").status == 404
    answer = shared_api.get("/v1/jobs/t0000000000001/explain")
    assert answer.status == 404 and "id of a task" in answer.json["detail"]
