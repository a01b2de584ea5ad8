"""Tasks are changed, held and deleted: planned jobs follow, what runs goes on."""

import json

import pytest

from support.client import first_job_id, raw_exchange
from support.events import Events
from support.problem import assert_problem
from support.rota import Rota
from support.times import to_ms
from support.wait import now_ms, wait_until

MERGE = {"Content-Type": "application/merge-patch+json"}


def patch(api, task_id, change, **headers):
    return api.request("PATCH", f"/v1/tasks/{task_id}", json.dumps(change), headers={**MERGE, **headers})


def patched(api, task_id, change, **headers):
    answer = patch(api, task_id, change, **headers)
    assert answer.status == 200, answer
    return answer.json


def steer(api, task_id, verb):
    answer = api.post(f"/v1/tasks/{task_id}/{verb}")
    assert answer.status == 200, answer
    return answer.json


class TestPatch:
    def test_the_fields_that_are_given_change_and_the_others_stay(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), name="a", labels={"x": "1", "y": "2"}, retry={"max": 7}, **{"in": "1h"})
        changed = patched(shared_api, task["id"], {"name": "b", "labels": {"x": None, "z": "3"}, "retry": {"delay": "9s"},
                                                   "timeout": "3s", "priority": 8})
        assert changed["name"] == "b"
        assert changed["labels"] == {"y": "2", "z": "3"}
        assert changed["retry"] == {**task["retry"], "delay": "9s"}
        assert (changed["timeout"], changed["priority"], changed["url"]) == ("3s", 8, task["url"])
        assert (changed["scheduled_at"], changed["version"]) == (task["scheduled_at"], 2)
        assert shared_api.task(task["id"]) == changed

    def test_null_takes_a_field_away(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), name="a", timeout="3s", **{"in": "1h"})
        changed = patched(shared_api, task["id"], {"name": None, "timeout": None})
        assert "name" not in changed and changed["timeout"] == "30s"

    def test_a_new_url_is_called_and_the_old_one_never(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/old"), **{"in": "1h"})
        changed = patched(shared_api, task["id"], {"url": target.url("/ok/new"), "in": "0s", "body": "new"})
        assert "at" not in changed
        job = shared_api.finished(task["id"])
        assert job["state"] == "success"
        assert [call.body for call in target.calls(path="/ok/new")] == [b"new"]
        assert target.calls(path="/ok/old") == []

    def test_a_job_whose_time_is_near_is_called_back(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/near"), **{"in": "4s"})
        shared_api.wait_state(first_job_id(task["id"]), "watching")
        changed = patched(shared_api, task["id"], {"url": target.url("/ok/instead")})
        assert changed["scheduled_at"] == task["scheduled_at"]
        shared_api.finished(task["id"])
        assert target.calls(path="/ok/near") == []
        (call,) = target.calls(path="/ok/instead")
        assert call.arrived >= to_ms(task["scheduled_at"])

    def test_at_and_in_take_each_others_place(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        changed = patched(shared_api, task["id"], {"at": "2031-01-01T00:00:00Z"})
        assert changed["at"] == changed["scheduled_at"] == "2031-01-01T00:00:00.000Z" and "in" not in changed
        began = now_ms()
        changed = patched(shared_api, task["id"], {"in": "2h"})
        assert changed["in"] == "2h" and "at" not in changed
        assert began + 7_200_000 <= to_ms(changed["scheduled_at"]) <= now_ms() + 7_200_000
        assert shared_api.first_job(task["id"])["due_at"] == changed["scheduled_at"]

    def test_it_moves_to_another_queue(self, shared_api, target):
        shared_api.post("/v1/queues/patch-held/pause")
        task = shared_api.submit(target.url("/ok/moved"), queue="patch-held")
        shared_api.wait_state(first_job_id(task["id"]), "ready")
        assert patched(shared_api, task["id"], {"queue": "patch-free"})["queue"] == "patch-free"
        assert shared_api.finished(task["id"])["state"] == "success"
        queues = {queue["queue"]: queue for queue in shared_api.read("/v1/queues?limit=1000")["items"]}
        assert queues["patch-held"]["pending"] == 0
        assert queues["patch-free"]["states"]["success"] == 1

    def test_a_running_job_is_not_touched_and_its_retry_is_made_with_the_new_task(self, shared_api, target):
        task = shared_api.submit(target.url("/gate/patch/first"), retry={"max": 1, "delay": "0s"}, timeout="10m",
                                 success_codes=[204])
        target.wait_calls(path="/gate/patch/first")
        change = {"url": target.url("/ok/second"), "success_codes": None}
        assert patched(shared_api, task["id"], change)["state"] == "active"
        target.open("patch")
        job = shared_api.finished(task["id"])
        assert job["state"] == "success"
        assert len(target.calls(path="/ok/second")) == 1
        assert len(target.calls(path="/gate/patch/first")) == 1

    def test_if_match(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        answer = shared_api.get(f"/v1/tasks/{task['id']}")
        assert answer.headers["ETag"] == '"1"'
        assert patched(shared_api, task["id"], {"name": "x"}, **{"If-Match": '"1"'})["version"] == 2
        for etag in ('"1"', '"3"', 'W/"2"', '"02"', '"x"', '""', '"1", "3"', 'W/"2", "3"', '"1,2"', '"2x"'):
            refused = patch(shared_api, task["id"], {"name": "y"}, **{"If-Match": etag})
            assert (refused.status, refused.json["code"]) == (412, "version_mismatch"), etag
        for broken in ("2", "", ",", '"2', 'w/"2"', '"2" "3"', '"2"x', '*, "2"', '"2", *', "W/2"):
            refused = patch(shared_api, task["id"], {"name": "y"}, **{"If-Match": broken})
            assert_problem(refused, 422, "invalid_field", words="ETag")
            assert refused.json["field"] == "If-Match", broken
        assert patched(shared_api, task["id"], {"name": "z"}, **{"If-Match": "*"})["version"] == 3
        for version, either in enumerate(('"1", "3"', '"4","x"', ', W/"1" ,\t"5",,'), start=4):
            assert patched(shared_api, task["id"], {"name": f"n{version}"}, **{"If-Match": either})["version"] == version

    def test_if_match_in_several_lines(self, shared, target):
        task = shared.api.submit(target.url("/ok"), **{"in": "1h"})
        body = b'{"name": "x"}'
        lines = [f"PATCH /v1/tasks/{task['id']} HTTP/1.1", "Host: localhost", 'If-Match: "7"', 'If-Match: "1"', f"Content-Length: {len(body)}"]
        assert raw_exchange(shared.where(), "\r\n".join(lines).encode() + b"\r\n\r\n" + body).startswith(b"HTTP/1.1 200 ")

    @pytest.mark.parametrize("method, path", [
        ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run"), ("POST", "/cancel"), ("DELETE", ""), ("DELETE", "?running=1"),
    ])
    def test_whatever_is_done_to_a_task_is_done_to_the_version_that_was_meant(self, shared_api, target, method, path):
        task = shared_api.submit(target.url("/ok/meant"), **{"in": "1h"})
        where = f"/v1/tasks/{task['id']}"
        patched(shared_api, task["id"], {"name": "x"})
        before = shared_api.read(where)
        refused = shared_api.request(method, where + path, headers={"If-Match": '"1"'})
        assert_problem(refused, 412, "version_mismatch")
        assert shared_api.read(where) == before
        assert shared_api.request(method, where + path, headers={"If-Match": '"1", "2"'}).status in (200, 204)

    def test_a_job_has_no_version(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        where = f"/v1/jobs/j{task['id'][1:]}/cancel"
        assert_problem(shared_api.post(where, headers={"If-Match": '"1"'}), 422, "invalid_field")
        assert shared_api.post(where, headers={"If-Match": "*"}).status == 200

    @pytest.mark.parametrize("change, status, field", [
        ({"timeout": "soon"}, 422, "/timeout"),
        ({"key": "k"}, 422, "/key"),
        ({"url": None}, 422, None),
        ({"lables": {}}, 422, "/lables"),
        ({"scheduled_at": "2031-01-01T00:00:00Z"}, 422, "/scheduled_at"),
        ({"id": "t0000000000001"}, 422, "/id"),
        ({"retry": {"max": 101}}, 422, "/retry/max"),
        ({"at": "2031-01-01T00:00:00Z", "in": "1h"}, 422, None),
        ({"at": "2099-01-01T00:00:00Z"}, 422, "/at"),
        ([], 422, None),
        ("text", 422, None),
        ({"name": "x" * 257}, 422, "/name"),
        ({"body": "x" * (1 << 20)}, 413, None),
    ])
    def test_what_would_be_wrong_changes_nothing(self, shared_api, target, change, status, field):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        refused = patch(shared_api, task["id"], change)
        assert refused.status == status, refused
        if field:
            assert refused.json["field"] == field
        assert shared_api.task(task["id"]) == task

    def test_what_rota_says_of_a_task_is_not_taken_for_a_typo(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        detail = patch(shared_api, task["id"], {"scheduled_at": "2031-01-01T00:00:00Z"}).json["detail"]
        assert "cannot be given" in detail and 'did you mean "at"?' in detail
        assert "did you mean" not in patch(shared_api, task["id"], {"id": task["id"]}).json["detail"]

    def test_what_has_ended_is_not_changed(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"))
        shared_api.finished(task["id"])
        assert patch(shared_api, task["id"], {"name": "x"}).status == 409
        assert patch(shared_api, "t0000000000001", {"name": "x"}).status == 404
        answer = shared_api.request("PATCH", f"/v1/tasks/{task['id']}", "x=1", headers={"Content-Type": "text/plain"})
        assert answer.status == 415 and "application/merge-patch+json" in answer.json["detail"]


class TestPause:
    def test_a_paused_task_does_not_run_until_it_is_resumed(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/paused"), **{"in": "2s"})
        assert steer(shared_api, task["id"], "pause")["state"] == "paused"
        due = to_ms(task["scheduled_at"])
        wait_until(lambda: now_ms() > due + 1500, "its time has passed")
        assert target.calls(path="/ok/paused") == []
        assert shared_api.task(task["id"])["state"] == "paused"
        explained = shared_api.read(f"/v1/jobs/{first_job_id(task['id'])}/explain")
        assert [reason["what"] for reason in explained["waiting_for"]] == ["task_paused"]
        assert steer(shared_api, task["id"], "resume")["state"] in ("active", "done")  # it is due, and may have run by now
        job = shared_api.finished(task["id"])
        assert job["state"] == "success" and job["sla_met"] is True

    def test_one_whose_time_is_near_is_called_back(self, shared_api, target):
        task = shared_api.submit(target.url("/ok/near-paused"), **{"in": "4s"})
        shared_api.wait_state(first_job_id(task["id"]), "watching")
        steer(shared_api, task["id"], "pause")
        due = to_ms(task["scheduled_at"])
        wait_until(lambda: now_ms() > due + 300, "its time has passed")
        assert target.calls(path="/ok/near-paused") == []
        steer(shared_api, task["id"], "resume")
        assert shared_api.finished(task["id"])["state"] == "success"

    def test_what_runs_goes_on_and_is_not_retried_while_paused(self, shared_api, target):
        task = shared_api.submit(target.url("/gate/pause/x"), retry={"max": 1, "delay": "0s"}, timeout="10m",
                                 success_codes=[204])
        target.wait_calls(path="/gate/pause/x")
        steer(shared_api, task["id"], "pause")
        target.open("pause")
        job_id = first_job_id(task["id"])
        wait_until(lambda: shared_api.job(job_id)["attempts"], "the attempt has ended")
        wait_until(lambda: shared_api.job(job_id)["state"] == "delayed", "the retry is put off")
        assert len(target.calls(path="/gate/pause/x")) == 1
        steer(shared_api, task["id"], "resume")
        assert shared_api.finished(task["id"])["retry_count"] == 1

    def test_twice_is_no_error_and_what_has_ended_is_not_paused(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        version = steer(shared_api, task["id"], "pause")["version"]
        assert steer(shared_api, task["id"], "pause")["version"] == version
        assert shared_api.post(f"/v1/tasks/{task['id']}/run").status == 409
        steer(shared_api, task["id"], "resume")
        resumed = steer(shared_api, task["id"], "resume")
        assert (resumed["state"], resumed["scheduled_at"]) == ("active", task["scheduled_at"])
        done = shared_api.submit(target.url("/ok"))
        shared_api.finished(done["id"])
        for verb in ("pause", "resume"):
            answer = shared_api.post(f"/v1/tasks/{done['id']}/{verb}")
            assert (answer.status, answer.json["code"]) == (409, "illegal_transition")

    def test_a_pause_survives_a_restart(self, rota, api, target):
        task = api.submit(target.url("/ok/restart"), **{"in": "1s"})
        steer(api, task["id"], "pause")
        rota.stop()
        rota.start()
        wait_until(lambda: now_ms() > to_ms(task["scheduled_at"]) + 1000, "its time has passed")
        assert target.calls(path="/ok/restart") == []
        steer(rota.api, task["id"], "resume")
        assert rota.api.finished(task["id"])["state"] == "success"


class TestDelete:
    def test_a_planned_task_is_gone_and_never_runs(self, api, target):
        task = api.submit(target.url("/ok/deleted"), **{"in": "2s"}, key="again")
        assert api.request("DELETE", f"/v1/tasks/{task['id']}").status == 204
        assert api.get(f"/v1/tasks/{task['id']}").status == 404
        assert api.get(f"/v1/jobs/{first_job_id(task['id'])}").status == 404
        assert api.read("/v1/tasks")["items"] == []
        assert api.read("/v1/jobs")["items"] == []
        assert sum(api.read("/v1/stats")["states"].values()) == 0
        assert api.request("DELETE", f"/v1/tasks/{task['id']}").status == 404
        wait_until(lambda: now_ms() > to_ms(task["scheduled_at"]) + 300, "its time has passed")
        assert target.calls(path="/ok/deleted") == []

    def test_what_has_ended_can_be_deleted(self, api, target):
        task = api.submit(target.url("/ok"), ttl=None)
        api.finished(task["id"])
        retry = api.post(f"/v1/jobs/{first_job_id(task['id'])}/retry").json
        api.wait_state(retry["id"], "success")
        assert api.request("DELETE", f"/v1/tasks/{task['id']}").status == 204
        assert api.read("/v1/jobs")["items"] == api.read("/v1/jobs?state=success")["items"] == []
        assert sum(api.read("/v1/stats")["states"].values()) == 0

    @pytest.mark.parametrize("how", ["fails", "is lost", "is interrupted", "lapses"])
    def test_what_runs_ends_once_however_it_ends(self, place, target, how):
        """Beside it runs the same of a task that is not deleted: when that has been tried again, this would have been, too."""
        rota = Rota(**place, options=["--stop-timeout", "0s"])
        rota.start()
        api, path = rota.api, "/later" if how == "lapses" else "/gate/end"
        tries = {"retry": {"max": 5, "delay": "0s", "jitter": False}, "success_codes": [404], "labels": {"of": "delete"},
                 "timeout": "5s" if how == "lapses" else "10m", "on_lost": "retry", "lost_max": 100}
        deleted, kept = (api.submit(target.url(f"{path}/{name}"), **tries)["id"] for name in ("deleted", "kept"))
        for task_id in (deleted, kept):
            api.wait_state(first_job_id(task_id), "reserved")
        target.wait_calls(2, path=path)
        with Events(rota.where()) as events:
            events.wait_ready()
            assert api.request("DELETE", f"/v1/tasks/{deleted}").status == 204
            (told,) = events.wait("task_deleted", task_id=deleted)
            shown = lambda query: {item["task_id"] for item in api.read(f"/v1/jobs{query}")["items"]}
            assert shown("") == shown("?state=reserved") == shown("?label.of=delete") == {kept}
            assert api.read("/v1/stats")["states"]["reserved"] == api.read("/v1/stats")["pending"] == 1
            assert api.get(f"/v1/jobs/{first_job_id(deleted)}").status == 404
            for verb in ("cancel", "pause", "run"):
                assert api.post(f"/v1/tasks/{deleted}/{verb}").status == 404
            if how == "is lost":
                rota.kill()
                rota.start()
            if how == "is interrupted":
                rota.stop()
                rota.start()
            target.open("end") if how == "fails" else None
            target.wait_calls(2, path=f"{path}/kept")
            if how in ("fails", "lapses"):
                events.wait("retried", task_id=kept)
            assert events.of(task_id=deleted)[-1] == told, "nothing is told of it any more"
        assert len(target.calls(path=f"{path}/deleted")) == 1
        assert shown("") == {kept} and sum(api.read("/v1/stats")["states"].values()) == 1
        assert "cannot be read" not in rota.log_text()
        assert api.request("DELETE", f"/v1/tasks/{kept}?running=1").status == 204
        assert shown("") == set() and sum(api.read("/v1/stats")["states"].values()) == 0
        rota.close()

    def test_a_running_job_goes_on_unless_told(self, shared_api, target):
        left, ended = (shared_api.submit(target.url(f"/gate/delete/ok/{name}"), timeout="10m") for name in ("left", "ended"))
        target.wait_calls(path="/gate/delete/ok/left")
        (call,) = target.wait_calls(path="/gate/delete/ok/ended")
        assert shared_api.request("DELETE", f"/v1/tasks/{left['id']}").status == 204
        assert shared_api.request("DELETE", f"/v1/tasks/{ended['id']}?running=1").status == 204
        wait_until(lambda: call.ended, "the target sees that the caller has gone")
        (other,) = target.calls(path="/gate/delete/ok/left")
        assert not other.ended
        target.open("delete")
        wait_until(lambda: other.ended, "it has its answer")

    def test_refusals(self, shared_api):
        assert shared_api.request("DELETE", "/v1/tasks/t0000000000001").status == 404
        assert shared_api.request("DELETE", "/v1/tasks/t0000000000001?running=maybe").status == 422


@pytest.mark.stores("postgres")
def test_another_node_deletes_what_one_runs(nodes, target):
    tries = {"retry": {"max": 5, "delay": "0s", "jitter": False}, "success_codes": [404], "timeout": "10m"}
    deleted, kept = (nodes[0].api.submit(target.url(f"/gate/nodes/{name}"), **tries)["id"] for name in ("deleted", "kept"))
    target.wait_calls(2, path="/gate/nodes")
    assert nodes[1].api.request("DELETE", f"/v1/tasks/{deleted}").status == 204
    assert [node.api.get(f"/v1/jobs/{first_job_id(deleted)}").status for node in nodes] == [404, 404, 404]
    target.open("nodes")
    assert nodes[2].api.finished(kept)["retry_count"] == 5
    assert len(target.calls(path="/gate/nodes/deleted")) == 1


@pytest.mark.stores("postgres")
def test_another_node_changes_and_holds_what_one_has_in_hand(nodes, target):
    first, second = nodes[0], nodes[1]
    changed = first.api.submit(target.url("/ok/was"), **{"in": "4s"})
    held = first.api.submit(target.url("/ok/held"), **{"in": "4s"})
    for task in (changed, held):
        first.api.wait_state(first_job_id(task["id"]), "watching")
    assert patch(second.api, changed["id"], {"url": target.url("/ok/is")}).status == 200
    assert second.api.post(f"/v1/tasks/{held['id']}/pause").status == 200
    second.api.finished(changed["id"])
    wait_until(lambda: now_ms() > to_ms(held["scheduled_at"]) + 500, "its time has passed")
    assert target.calls(path="/ok/was") == target.calls(path="/ok/held") == []
    assert len(target.calls(path="/ok/is")) == 1
    assert nodes[2].api.post(f"/v1/tasks/{held['id']}/resume").status == 200
    assert second.api.finished(held["id"])["state"] == "success"

