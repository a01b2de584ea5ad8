"""Explain of a recurring task says what happens next, why not, and what was skipped lately."""

from support.client import first_job_id
from support.problem import assert_problem
from support.wait import wait_until


def submit(api, url, **fields):
    answer = api.post("/v1/tasks", {"url": url, **fields})
    assert answer.status == 201, answer
    return answer.json


def explain(api, task_id):
    return api.read(f"/v1/tasks/{task_id}/explain")


def whats(explained):
    return [reason["what"] for reason in explained["waiting_for"]]


class TestNext:
    def test_the_next_run_and_the_end_of_the_schedule(self, shared_api, target):
        task = submit(shared_api, target.url("/ok"), every="1h", ends_at="2035-12-31T22:30:00Z", max_runs=50)
        explained = explain(shared_api, task["id"])
        assert (explained["state"], whats(explained), explained["expected_start"]) == ("active", ["time"], task["next_at"])
        assert f"Its next run is planned for {task['next_at']} (in 59m" in explained["text"]
        first = explained["waiting_for"][0]["id"]
        assert shared_api.read(f"/v1/jobs/{first}")["scheduled_at"] == task["next_at"]
        assert "Its schedule ends at 2035-12-31T22:30:00.000Z (in " in explained["text"]
        assert "Its schedule ends after 50 runs, 5 of which are past or planned." in explained["notes"]

    def test_what_has_ended_waits_for_nothing(self, shared_api, target):
        task = submit(shared_api, target.url("/ok/ends"), every="1s", max_runs=1)
        wait_until(lambda: shared_api.task(task["id"])["state"] == "done")
        explained = explain(shared_api, task["id"])
        assert (explained["state"], explained["waiting_for"], explained["expected_start"]) == ("done", [], None)
        assert explained["text"] == f"Its schedule has ended: the last instant was {task['next_at']}."

    def test_a_run_more_than_ten_years_ahead_has_no_job_yet_and_is_named(self, shared_api, target):
        task = submit(shared_api, target.url("/ok"), cron="0 12 * * *", starts_at="2100-01-01T00:00:00Z", exclude=["2100-01-01"])
        assert (task["state"], task["next_at"], task["runs"]["planned"]) == ("active", None, 0)
        explained = explain(shared_api, task["id"])
        assert explained["text"] == "Its next run is at 2100-01-02T12:00:00.000Z. It is planned when that is ten years ahead."

    def test_a_paused_queue_holds_it(self, shared_api, target):
        shared_api.post("/v1/queues/explain-schedule/pause")
        task = submit(shared_api, target.url("/ok"), every="1h", queue="explain-schedule")
        explained = explain(shared_api, task["id"])
        assert whats(explained) == ["queue_paused", "time"] and explained["expected_start"] is None
        shared_api.post("/v1/queues/explain-schedule/resume")
        wait_until(lambda: explain(shared_api, task["id"])["expected_start"] == task["next_at"])


class TestPaused:
    def test_by_hand_with_its_note_and_the_way_on(self, shared_api, target):
        task = submit(shared_api, target.url("/ok"), every="1h")
        paused = shared_api.post(f"/v1/tasks/{task['id']}/pause", {"note": "until \"Monday\""}).json["paused"]
        explained = explain(shared_api, task["id"])
        assert (explained["state"], whats(explained), explained["expected_start"]) == ("paused", ["task_paused"], None)
        assert explained["waiting_for"][0]["detail"] == f"It was paused by hand, at {paused['since']}, with the note \"until \"Monday\"\"."
        way = explained["text"].split("POST ")[1].rstrip(".")
        assert shared_api.post(way).status == 200
        assert whats(explain(shared_api, task["id"])) == ["time"]

    def test_by_its_failures(self, shared_api, target):
        task = submit(shared_api, target.url("/status/500/schedule"), every="1s", retry={"max": 0}, pause_after_failures=2)
        explained = wait_until(lambda: (said := explain(shared_api, task["id"]))["state"] == "paused" and said)
        assert explained["waiting_for"][0]["detail"].startswith("It paused itself, because the last 2 runs of its schedule failed, at ")

    def test_failures_say_when_it_pauses_itself(self, shared_api, target):
        task = submit(shared_api, target.url("/status/500/warned"), every="1s", retry={"max": 0}, pause_after_failures=50, max_runs=1)
        wait_until(lambda: shared_api.task(task["id"])["failures_in_row"] == 1)
        assert "The last run of its schedule failed; it pauses itself after 50 in a row." in explain(shared_api, task["id"])["notes"]


class TestOverlap:
    def test_what_is_queued_names_what_it_waits_for(self, shared_api, target):
        task = submit(shared_api, target.url("/gate/explain-queued"), every="1s", overlap="queue", misfire="all", max_runs=3,
                      timeout="10m")
        explained = wait_until(lambda: whats(said := explain(shared_api, task["id"])) == ["overlap"] and "2 runs wait" in said["text"] and said)
        (running,) = [job["id"] for job in shared_api.jobs(task["id"]) if job["state"] == "reserved"]
        assert explained["waiting_for"][0]["id"] == running
        assert f"Right now a run goes on: {running}." in explained["notes"]
        blocked = sorted((job for job in shared_api.jobs(task["id"]) if job["state"] == "blocked"), key=lambda job: job["nominal_at"])
        said = [shared_api.read(f"/v1/jobs/{job['id']}/explain")["waiting_for"][0] for job in blocked]
        assert [reason["id"] for reason in said] == [running] * 2
        assert said[0]["detail"] == f"It waits until a run of its task has ended: {running} is active."
        assert said[1]["detail"] == said[0]["detail"] + " 1 waits before it."
        target.open("explain-queued")
        wait_until(lambda: shared_api.task(task["id"])["state"] == "done")

    def test_what_was_skipped_lately_is_counted_by_reason(self, shared_api, target):
        task = submit(shared_api, target.url("/gate/explain-skipped"), every="1s", overlap="skip", timeout="10m")
        wait_until(lambda: [skip for skip in shared_api.task(task["id"])["skips"] if skip["count"] >= 2])
        (since,) = [skip["from"] for skip in shared_api.task(task["id"])["skips"]]
        (note,) = [note for note in explain(shared_api, task["id"])["notes"] if "skipped" in note]
        assert note.startswith(f"Since {since}, ") and note.endswith(" while another run was active.")
        target.open("explain-skipped")
        shared_api.post(f"/v1/tasks/{task['id']}/cancel")


def test_of_a_one_time_task_its_job_is_explained(shared_api, target):
    task = submit(shared_api, target.url("/ok"), **{"in": "1h"})
    of_job = shared_api.read(f"/v1/jobs/{first_job_id(task['id'])}/explain")
    of_task = explain(shared_api, task["id"])
    assert of_task["state"] == "delayed" and of_task["expected_start"] == of_job["expected_start"] == task["scheduled_at"]


def test_nobody(shared_api):
    assert_problem(shared_api.get("/v1/tasks/t0000000000001/explain"), 404, "not_found")
    assert "id of a job" in shared_api.get("/v1/tasks/j0000000000001/explain").json["detail"]
