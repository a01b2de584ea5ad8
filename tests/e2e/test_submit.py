"""A submit is understood, answered after it is durable, and its job runs, not before its time."""

import json
import re

import pytest

from support.problem import assert_problem
from support.times import to_ms, to_text
from support.wait import now_ms, wait_until

TASK_ID = re.compile(r"^t[0-9a-z]{13}$")
JOB_ID = re.compile(r"^j[0-9a-z]{13}$")


def test_the_smallest_task_goes_all_the_way(shared_api, target):
    answer = shared_api.post("/v1/tasks", {"url": target.url("/ok/smallest")})
    assert answer.status == 201
    assert answer.type == "application/json"
    task = answer.json
    assert TASK_ID.match(task["id"])
    assert answer.headers["Location"].endswith(f"/v1/tasks/{task['id']}")
    job = shared_api.finished(task["id"])
    assert job["state"] == "success"
    assert job["status"] == 200
    assert job["response"] == "ok 1"
    (call,) = target.calls(path="/ok/smallest")
    assert call.method == "POST"


def test_the_location_can_be_followed(shared_api, target):
    answer = shared_api.post("/v1/tasks", {"url": target.url("/ok/location")})
    followed = shared_api.get(answer.headers["Location"].removeprefix(f"http://127.0.0.1:{shared_api.where()[1]}"))
    assert followed.status == 200
    assert followed.json["id"] == answer.json["id"]


def test_the_first_job_of_a_task_has_its_number(shared_api, target):
    task = shared_api.submit(target.url("/ok/number"))
    (job,) = shared_api.jobs(task["id"])
    assert JOB_ID.match(job["id"])
    assert job["id"][1:] == task["id"][1:]
    assert job["task_id"] == task["id"]
    assert job["parent_job_id"] is None


def test_a_task_shows_all_fields_as_given_or_defaulted(shared_api, target):
    given = {
        "url": target.url("/ok/fields"),
        "method": "PUT",
        "headers": {"X-A": "b"},
        "body": {"n": 1},
        "priority": 7,
        "queue": "fields",
        "name": "a name",
        "labels": {"team": "blue"},
        "success_codes": ["2xx", 404],
        "timeout": "10s",
        "tracing_id": "trace-1",
        "created_by": "somebody",
    }
    task = shared_api.task(shared_api.submit(**given)["id"])
    for name, value in given.items():
        assert task[name] == value, name
    assert task["retry"] == {"max": 3, "delay": "5s", "backoff": "exponential", "max_delay": "10m", "jitter": True}
    assert (task["sla"], task["ttl"], task["on_lost"], task["lost_max"]) == ("30s", "7d", "retry", 3)
    assert to_ms(task["created_at"]) <= now_ms()
    assert task["state"] in ("active", "done")


def test_the_task_is_done_when_its_job_is(shared_api, target):
    task_id = shared_api.submit(target.url("/ok/done"))["id"]
    job = shared_api.finished(task_id)
    task = shared_api.task(task_id)
    assert task["state"] == "done"
    assert task["runs"]["success"] == 1
    assert task["runs"]["planned"] == 0
    assert task["job"]["id"] == job["id"]


def test_the_record_of_a_job_tells_its_times_in_order(shared_api, target):
    before = now_ms()
    task_id = shared_api.submit(target.url("/slow/30/times"))["id"]
    job = shared_api.finished(task_id)
    times = [to_ms(job[name]) for name in ("scheduled_at", "picked_at", "started_at", "completed_at")]
    assert times[0] >= before and times[2] <= times[3] <= now_ms()
    assert max(times[:2]) <= times[2]
    assert job["sla_met"] is True and job["late_stage"] is None
    assert set(job["delays"]) == {"puller", "queue", "target"}
    assert all(delay >= 0 for delay in job["delays"].values())
    assert job["delays"]["target"] >= 30
    (attempt,) = job["attempts"]
    assert (attempt["number"], attempt["outcome"], attempt["status"]) == (1, "success", 200)


def test_the_short_names_do_the_same(shared_api, target):
    answer = shared_api.post("/tasks", {"url": target.url("/ok/short")})
    assert answer.status == 201
    task_id = answer.json["id"]
    shared_api.finished(task_id)
    assert shared_api.read(f"/tasks/{task_id}")["id"] == task_id
    assert len(target.calls(path="/ok/short")) == 1


def test_an_array_is_taken_in_order(shared_api, target):
    tasks = [{"url": target.url(f"/ok/array/{i}"), "name": f"n{i}"} for i in range(200)]
    answer = shared_api.post("/v1/tasks", tasks)
    assert answer.status == 201
    ids = [result["id"] for result in answer.json["results"]]
    assert len(set(ids)) == 200
    assert [shared_api.task(task_id)["name"] for task_id in ids[:5]] == [f"n{i}" for i in range(5)]
    target.wait_calls(200, path="/ok/array/")
    assert {shared_api.finished(task_id)["state"] for task_id in ids} == {"success"}


def test_lines_of_json_are_taken_in_order(shared_api, target):
    lines = "\n".join(json.dumps({"url": target.url(f"/ok/line/{i}"), "name": f"l{i}"}) for i in range(50)) + "\n"
    answer = shared_api.post("/v1/tasks", lines, headers={"Content-Type": "application/x-ndjson"})
    assert answer.status == 201
    ids = [result["id"] for result in answer.json["results"]]
    assert [shared_api.task(task_id)["name"] for task_id in ids] == [f"l{i}" for i in range(50)]
    target.wait_calls(50, path="/ok/line/")


def test_a_bulk_with_bad_ones_takes_the_good_ones(shared_api, target):
    tasks = [{"url": target.url("/ok/mixed/a")}, {"url": "gopher://x"}, {"url": target.url("/ok/mixed/b")}, {"urll": "x"}]
    answer = shared_api.post("/v1/tasks", tasks)
    assert answer.status == 207
    first, second, third, fourth = answer.json["results"]
    assert {shared_api.finished(taken["id"])["state"] for taken in (first, third)} == {"success"}
    assert second["error"]["code"] == "invalid_field" and second["error"]["field"].endswith("/url")
    assert fourth["error"]["code"] == "unknown_field" and fourth["error"]["field"].endswith("/urll")
    assert "id" not in second and "id" not in fourth


def test_one_line_that_is_not_json_does_not_spoil_the_others(shared_api, target):
    good = json.dumps({"url": target.url("/ok/spoilt")})
    answer = shared_api.post("/v1/tasks", f"{good}\n{{broken\n{good}\n", headers={"Content-Type": "application/x-ndjson"})
    assert answer.status == 207
    results = answer.json["results"]
    assert ["id" in result for result in results] == [True, False, True]
    assert results[1]["error"]["code"] == "invalid_json"


def test_a_brief_answer_has_only_counts_and_ids(shared_api, target):
    tasks = [{"url": target.url("/ok/brief")} for _ in range(3)]
    answer = shared_api.post("/v1/tasks?brief=1", tasks)
    assert answer.status == 201
    text = answer.body.decode()
    assert "url" not in text
    ids = re.findall(r"\bt[0-9a-z]{13}\b", text)
    assert len(set(ids)) == 3
    assert {shared_api.finished(task_id)["state"] for task_id in ids} == {"success"}


def test_an_empty_bulk_is_refused_or_takes_nothing(shared_api):
    answer = shared_api.post("/v1/tasks", [])
    assert answer.status in (201, 422), answer


class TestKey:
    """An idempotency key makes a submit safe to repeat."""

    def test_the_same_key_and_body_give_the_same_task(self, shared_api, target):
        body = {"url": target.url("/ok/key1"), "key": "same"}
        first, second = shared_api.post("/v1/tasks", body), shared_api.post("/v1/tasks", body)
        assert (first.status, second.status) == (201, 200)
        assert first.json["id"] == second.json["id"]
        shared_api.finished(first.json["id"])
        assert len(target.calls(path="/ok/key1")) == 1

    def test_spacing_and_order_do_not_make_another_body(self, shared_api, target):
        url = target.url("/ok/key2")
        first = shared_api.post("/v1/tasks", '{"url":"%s","key":"spaced","priority":5}' % url)
        second = shared_api.post("/v1/tasks", '{ "key": "spaced",\n "url": "%s" }' % url)
        assert (first.status, second.status) == (201, 200)
        assert first.json["id"] == second.json["id"]

    def test_another_body_with_the_same_key_is_a_conflict(self, shared_api, target):
        assert shared_api.post("/v1/tasks", {"url": target.url("/ok/key3"), "key": "other"}).status == 201
        answer = shared_api.post("/v1/tasks", {"url": target.url("/ok/key3"), "key": "other", "priority": 9})
        assert answer.status == 409
        assert answer.json["code"] == "key_reused"

    def test_keys_work_within_one_bulk(self, shared_api, target):
        body = {"url": target.url("/ok/key4"), "key": "twice"}
        answer = shared_api.post("/v1/tasks", [body, body, dict(body, name="differs")])
        first, second, third = answer.json["results"]
        assert first["id"] == second["id"]
        assert third["error"]["code"] == "key_reused"
        shared_api.finished(first["id"])
        assert len(target.calls(path="/ok/key4")) == 1

    def test_a_key_outlives_a_restart(self, rota, target):
        body = {"url": target.url("/ok/key5"), "key": "kept"}
        first = rota.api.post("/v1/tasks", body)
        rota.api.finished(first.json["id"])
        rota.restart()
        second = rota.api.post("/v1/tasks", body)
        assert second.status == 200
        assert second.json["id"] == first.json["id"]

    def test_of_a_cancelled_task_shows_it_as_it_is(self, shared_api, target):
        body = {"url": target.url("/ok/key6"), "key": "cancelled", "in": "1h"}
        task_id = shared_api.post("/v1/tasks", body).json["id"]
        shared_api.post(f"/v1/tasks/{task_id}/cancel")
        answer = shared_api.post("/v1/tasks", body)
        assert (answer.status, answer.json["id"], answer.json["state"]) == (200, task_id, "cancelled")

    def test_of_a_deleted_task_is_spent_and_says_since_when(self, rota, target):
        body = {"url": target.url("/ok/key7"), "key": "deleted", "in": "1h"}
        task_id = rota.api.post("/v1/tasks", body).json["id"]
        before = now_ms()
        assert rota.api.request("DELETE", f"/v1/tasks/{task_id}").status == 204
        for given in (body, {**body, "priority": 9}):
            answer = rota.api.post("/v1/tasks", given)
            assert_problem(answer, 409, "key_spent", "/key")
            at = re.search(rf"{task_id} .* (\S+Z)", answer.json["detail"]).group(1)
            assert before <= to_ms(at) <= now_ms()
            rota.restart()
        other, spent, good = rota.api.post("/v1/tasks", [{**body, "key": "a"}, body, {**body, "key": "b"}]).json["results"]
        assert spent["error"]["code"] == "key_spent" and "id" in other and "id" in good
        done = rota.cli("submit", body["url"], "--in", "1h", "--key", "deleted")
        assert (done.returncode, done.stdout) == (3, "") and "nothing will run" in done.stderr

    def test_of_a_task_that_was_kept_no_longer_says_that_it_is_done(self, shared_api, target):
        body = {"url": target.url("/ok/key8"), "key": "kept no longer", "ttl": "0s"}
        task_id = shared_api.post("/v1/tasks", body).json["id"]
        wait_until(lambda: shared_api.get(f"/v1/tasks/{task_id}").status == 404, "it is not kept")
        answer = shared_api.post("/v1/tasks", body)
        assert (answer.status, answer.json["id"], answer.json["state"]) == (200, task_id, "done")


class TestWhen:
    """A job waits for its time, to the millisecond on the early side."""

    @pytest.mark.parametrize("ahead_ms", [1, 50, 700, 6500])
    def test_at_is_not_early(self, shared_api, target, ahead_ms):
        planned = now_ms() + ahead_ms
        task = shared_api.submit(target.url(f"/ok/at/{ahead_ms}"), at=to_text(planned))
        was_past = planned < to_ms(task["created_at"])  # then it is planned for now
        assert was_past or to_ms(task["scheduled_at"]) == planned
        (call,) = target.wait_calls(path=f"/ok/at/{ahead_ms}")
        assert call.arrived >= planned

    def test_many_for_one_instant_are_not_early(self, shared_api, target):
        planned = now_ms() + 1500
        shared_api.submit_many([{"url": target.url("/ok/instant"), "at": to_text(planned)} for _ in range(300)])
        calls = target.wait_calls(300, path="/ok/instant")
        assert min(call.arrived for call in calls) >= planned

    @pytest.mark.parametrize("text, ms", [("300ms", 300), ("1s", 1000), ("PT0.5S", 500)])
    def test_in_is_not_early(self, shared_api, target, text, ms):
        sent = now_ms()
        task = shared_api.submit(target.url(f"/ok/in/{ms}"), **{"in": text})
        assert to_ms(task["scheduled_at"]) >= sent + ms
        (call,) = target.wait_calls(path=f"/ok/in/{ms}")
        assert call.arrived >= to_ms(task["scheduled_at"])

    def test_a_zone_is_understood(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/zone"), at="2031-03-01T12:00:00+02:00")
        assert task["scheduled_at"] == "2031-03-01T10:00:00.000Z"
        assert shared_api.first_job(task["id"])["state"] == "delayed"

    def test_the_past_is_now(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/past"), at="2001-01-01T00:00:00Z")
        job = shared_api.finished(task["id"])
        assert job["state"] == "success"
        assert job["sla_met"] is True
