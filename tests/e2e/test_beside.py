"""What a submit says in headers is part of its task: `Idempotency-Key` is `key`, and what is stored can be read, changed and run."""

import json

import pytest

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROUTES = ("/v1/tasks", "/tasks", "/task/create")


def test_a_trace_that_is_null_gives_way_to_the_header(shared_api, target):
    answer = shared_api.post("/v1/tasks", {"url": target.url("/ok/trace"), "traceparent": None}, headers={"traceparent": TRACE})
    assert answer.status == 201
    task_id = answer.json["id"]
    assert shared_api.task(task_id)["traceparent"] == TRACE
    assert shared_api.finished(task_id)["state"] == "success"
    (call,) = target.calls(path="/ok/trace")
    assert call.header("traceparent") == TRACE


def test_a_task_that_was_taken_with_headers_can_be_changed(shared_api, target):
    headers = {"traceparent": TRACE, "Idempotency-Key": "change me"}
    task = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "in": "1h", "traceparent": None, "key": None}, headers=headers).json
    answer = shared_api.request("PATCH", f"/v1/tasks/{task['id']}", {"name": "x"})
    assert (answer.status, answer.json["name"], answer.json["key"]) == (200, "x", "change me")
    assert shared_api.post(f"/v1/tasks/{task['id']}/cancel").status == 200


def test_a_task_of_one_mebibyte_has_no_room_for_a_header(shared_api, target):
    body = '{"url":"%s","in":"1h","body":"' % target.url("/ok")
    body += "x" * (1024 * 1024 - len(body) - 2) + '"}'
    for headers in ({"traceparent": TRACE}, {"Idempotency-Key": "k"}):
        answer = shared_api.post("/v1/tasks", body, headers=headers)
        assert (answer.status, answer.json["code"]) == (413, "too_large")
        assert "headers" in answer.json["detail"]
    assert shared_api.post("/v1/tasks", body).status == 201


@pytest.mark.parametrize("route", ROUTES)
def test_header_and_field_are_one_key(shared_api, target, route):
    task, key = {"url": target.url("/ok"), "in": "1h"}, f"one{route}"
    first = shared_api.post(route, task, headers={"Idempotency-Key": key})
    assert (first.status, first.json["key"]) == (201, key)
    for headers, fields in (({"Idempotency-Key": key}, {}), ({}, {"key": key}), ({"Idempotency-Key": key}, {"key": key})):
        again = shared_api.post(route, task | fields, headers=headers)
        assert (again.status, again.json["id"]) == (200, first.json["id"])
    other = shared_api.post(route, task | {"priority": 1}, headers={"Idempotency-Key": key})
    assert (other.status, other.json["code"]) == (409, "key_reused")


@pytest.mark.parametrize("route", ROUTES)
def test_two_different_keys_are_refused(shared_api, target, route):
    answer = shared_api.post(route, {"url": target.url("/ok"), "key": "a"}, headers={"Idempotency-Key": "b"})
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_field", "/key")
    assert "give one of them" in answer.json["detail"]


def test_many_tasks_have_no_key_in_common(shared_api, target):
    task = {"url": target.url("/ok"), "in": "1h"}
    for body, kind in ((json.dumps([task]), "application/json"), (json.dumps(task), "application/x-ndjson")):
        answer = shared_api.post("/v1/tasks", body, headers={"Idempotency-Key": "k", "Content-Type": kind})
        assert (answer.status, answer.json["field"]) == (422, "Idempotency-Key")
        assert "`key`" in answer.json["detail"]


@pytest.mark.parametrize("value", ["", "k" * 256, "t\tb", "\xe4"], ids=["empty", "long", "tab", "not ASCII"])
def test_a_header_that_cannot_be_a_key_is_refused(shared_api, target, value):
    answer = shared_api.post("/v1/tasks", {"url": target.url("/ok")}, headers={"Idempotency-Key": value})
    assert (answer.status, answer.json["field"]) == (422, "Idempotency-Key")
    assert "1 to 255 printable" in answer.json["detail"]


def test_what_is_new_each_time_does_not_take_a_key(shared_api, target):
    task = shared_api.submit(target.url("/ok"))
    job = shared_api.finished(task["id"])
    for path, body in ((f"/v1/jobs/{job['id']}/retry", None), ("/v1/bulk", {"action": "cancel", "filter": {"queue": "none"}})):
        answer = shared_api.post(path, body, headers={"Idempotency-Key": "k"})
        assert (answer.status, answer.json["field"]) == (422, "Idempotency-Key")
    answer = shared_api.post(f"/v1/tasks/{task['id']}/cancel", headers={"Idempotency-Key": "k"})
    assert answer.json.get("field") is None
