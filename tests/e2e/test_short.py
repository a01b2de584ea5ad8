"""The short routes: the names people know from the design."""

import pytest

from support.times import to_ms
from support.wait import now_ms


def test_create_and_status(shared_api, target):
    answer = shared_api.post("/task/create", {"url": target.url("/ok/short"), "total_retry": 7, "schedule_at": "2031-01-01T00:00:00Z"})
    assert answer.status == 201, answer
    task = answer.json
    assert (task["retry"]["max"], task["at"]) == (7, "2031-01-01T00:00:00.000Z")
    assert answer.headers["Location"] == f"/v1/tasks/{task['id']}"
    assert shared_api.read(f"/task/status?id={task['id']}") == shared_api.task(task["id"]) == task


def test_create_takes_a_task_as_it_is_too(shared_api, target):
    began = now_ms()
    task = shared_api.post("/task/create", {"url": target.url("/ok/short"), "in": "1h", "retry": {"max": 1}}).json
    assert to_ms(task["scheduled_at"]) >= began + 3_600_000
    same = {"url": target.url("/ok/short"), "key": "short", "in": "1h", "total_retry": 2}
    assert shared_api.post("/task/create", same).status == 201
    assert shared_api.post("/task/create", same).status == 200


@pytest.mark.parametrize("method, path, body, status, field", [
    ("POST", "/task/create", {}, 422, None),
    ("POST", "/task/create", [], 422, None),
    ("POST", "/task/create", "{", 400, None),
    ("POST", "/task/create", {"url": "http://x/", "total_retry": 101}, 422, "/retry/max"),
    ("POST", "/task/create", {"url": "http://x/", "total_retry": 1, "retry": {}}, 422, None),
    ("POST", "/task/create", {"url": "http://x/", "schedule_at": "soon"}, 422, "/at"),
    ("POST", "/task/create", {"url": "http://x/", "schedule_at": "2031-01-01T00:00:00Z", "at": "2031-01-01T00:00:00Z"}, 422, None),
    ("POST", "/v1/tasks", {"url": "http://x/", "total_retry": 1}, 422, "/total_retry"),
    ("GET", "/task/status", None, 422, "id"),
    ("GET", "/task/status?id=t0000000000001", None, 404, None),
    ("GET", "/task/status?id=", None, 404, None),
])
def test_refusals(shared_api, method, path, body, status, field):
    answer = shared_api.request(method, path, body)
    assert answer.status == status, answer
    if field:
        assert answer.json["field"] == field
