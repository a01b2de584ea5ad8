"""A queue in which nothing waits or runs can be deleted; it is there again when something is submitted to it."""

import threading

import pytest

from support.client import Api, first_job_id
from support.wait import wait_until


def delete(api, queue):
    return api.request("DELETE", f"/v1/queues/{queue}")


def queues(api):
    return {item["queue"]: item for item in api.read("/v1/queues?limit=1000")["items"]}


def assert_refused(answer, status, code, *words):
    assert (answer.status, answer.json["code"]) == (status, code), answer
    assert all(word in answer.json["detail"] for word in words), answer


def used(api, target, queue):
    """A queue whose only job has ended."""
    task_id = api.submit(target.url("/ok/used"), queue=queue)["id"]
    api.finished(task_id)
    return task_id


@pytest.mark.parametrize("queue", ["old", "default"])
def test_a_deleted_queue_is_in_no_list_and_no_metric_and_what_ended_stays(rota, target, queue):
    api = rota.api
    task_id = used(api, target, queue)
    used(api, target, "beside")
    assert delete(api, queue).status == 204
    assert set(queues(api)) == {"beside"}
    metrics = api.get("/metrics").body.decode()
    assert 'queue="beside"' in metrics and f'queue="{queue}"' not in metrics
    assert queue not in rota.cli("list", "--queues", "--all").stdout
    assert api.task(task_id)["queue"] == queue
    assert [job["id"] for job in api.read(f"/v1/jobs?queue={queue}")["items"]] == [first_job_id(task_id)]
    assert [task["id"] for task in api.read(f"/v1/tasks?queue={queue}")["items"]] == [task_id]
    assert api.read("/v1/stats")["states"]["success"] == 2
    assert_refused(delete(api, queue), 404, "not_found", queue)


def test_it_is_there_again_when_something_is_submitted(api, target):
    for _ in range(3):
        used(api, target, "again")
        assert (queues(api)["again"]["paused"], queues(api)["again"]["next_due"]) == (False, None)
        assert delete(api, "again").status == 204
        assert "again" not in queues(api)


def test_many_at_once_bring_it_back(api, target):
    used(api, target, "many")
    assert delete(api, "many").status == 204
    ids = api.submit_many([{"url": target.url("/ok/many"), "queue": "many"} for _ in range(100)])
    assert "many" in queues(api)
    assert {api.finished(task_id)["state"] for task_id in ids} == {"success"}
    assert queues(api)["many"]["states"]["success"] == 101


def test_a_retry_by_hand_brings_it_back(api, target):
    task_id = used(api, target, "retried")
    assert delete(api, "retried").status == 204
    job = api.post(f"/v1/jobs/{first_job_id(task_id)}/retry")
    assert job.status == 201
    assert "retried" in queues(api)
    api.wait_state(job.json["id"], "success")


def test_a_task_that_is_moved_there_brings_it_back(api, target):
    used(api, target, "moved")
    assert delete(api, "moved").status == 204
    task = api.submit(target.url("/ok/moved"), queue="elsewhere", **{"in": "1h"})
    assert api.request("PATCH", f"/v1/tasks/{task['id']}", {"queue": "moved"}).status == 200
    assert queues(api)["moved"]["states"]["delayed"] == 1
    assert delete(api, "elsewhere").status == 204


def test_one_with_jobs_that_have_not_ended_is_refused_and_says_how_many(api, target):
    planned = api.submit_many([{"url": target.url("/ok/full"), "queue": "full", "in": "1h"} for _ in range(3)])
    assert_refused(delete(api, "full"), 409, "queue_not_empty", "3 jobs", "Cancel or delete them first", '{"queue": "full"}')
    assert api.post(f"/v1/tasks/{planned[0]}/cancel").status == 200
    assert api.request("DELETE", f"/v1/tasks/{planned[1]}").status == 204
    assert_refused(delete(api, "full"), 409, "queue_not_empty", "1 job that has not ended")
    bulk = api.post("/v1/bulk", {"action": "cancel", "filter": {"queue": "full"}}).json
    wait_until(lambda: api.read(f"/v1/bulk/{bulk['id']}")["state"] == "done", "all are cancelled")
    assert delete(api, "full").status == 204


def test_one_with_a_job_that_runs_is_refused(api, target):
    task_id = api.submit(target.url("/gate/busy"), queue="busy")["id"]
    target.wait_calls(1, path="/gate/busy")
    assert_refused(delete(api, "busy"), 409, "queue_not_empty")
    target.open("busy")
    api.finished(task_id)
    assert delete(api, "busy").status == 204


def test_a_paused_one_is_to_be_resumed_first(api, target):
    assert api.post("/v1/queues/held/pause").status == 200
    assert_refused(delete(api, "held"), 409, "queue_paused", "Resume it first")
    task = api.submit(target.url("/ok/held"), queue="held")
    assert_refused(delete(api, "held"), 409, "queue_not_empty")
    assert api.first_job(task["id"])["state"] == "ready"
    assert api.post("/v1/queues/held/resume").status == 200
    api.finished(task["id"])
    assert delete(api, "held").status == 204
    assert api.post("/v1/queues/held/pause").json == {"queue": "held", "paused": True}
    assert queues(api)["held"]["paused"] is True, "a pause makes it anew"


def test_one_that_was_never_used_is_absent_and_a_name_that_none_has_is_refused(api):
    assert_refused(delete(api, "never"), 404, "not_found", "never")
    assert "never" not in queues(api)
    assert_refused(delete(api, "no%20name"), 422, "invalid_field")
    assert_refused(api.request("DELETE", "/v1/queues/never", {"force": True}), 422, "unknown_field")


def test_it_stays_deleted_over_a_restart_and_comes_back_after_it(rota, target):
    used(rota.api, target, "restarted")
    used(rota.api, target, "kept")
    assert delete(rota.api, "restarted").status == 204
    for stop in (rota.kill, rota.stop):
        stop()
        rota.start()
        assert set(queues(rota.api)) == {"kept"}
    used(rota.api, target, "restarted")
    rota.kill()
    rota.start()
    assert set(queues(rota.api)) == {"kept", "restarted"}


def race(places, target, queue):
    """Submits through each place, which must be listed at once, while somebody deletes the queue whenever it is empty. The jobs
    are planned and then cancelled, so that the queue is empty again and again. Returns how often it was deleted."""
    ended, hidden, counted = threading.Event(), [], [0]

    def submit(where):
        api = Api(where)
        while not ended.is_set():
            task_id = api.submit(target.url("/ok/race"), queue=queue, **{"in": "1h"})["id"]
            if queue not in queues(api):
                hidden.append(task_id)
            assert api.post(f"/v1/tasks/{task_id}/cancel").status == 200
        api.close()

    threads = [threading.Thread(target=submit, args=(where,)) for where in places]
    for thread in threads:
        thread.start()
    api = Api(places[-1])

    def deleted_often():
        answer = delete(api, queue)
        assert answer.status in (204, 404, 409), answer
        counted[0] += answer.status == 204
        return counted[0] >= 20 or hidden

    try:
        wait_until(deleted_often, "it was deleted twenty times", interval=0)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        api.close()
    assert hidden == []


def test_what_is_acknowledged_while_it_is_deleted_is_in_a_queue_that_is_listed(rota, target):
    race([rota.where] * 2, target, "raced")
    used(rota.api, target, "raced")
    assert "raced" in queues(rota.api)


@pytest.mark.stores("postgres")
class TestManyNodes:
    def test_a_queue_that_one_node_deleted_comes_back_through_any_other(self, nodes, target):
        """Each of them has used it, so each remembers what it knew of it."""
        for node in nodes:
            used(node.api, target, "shared")
        for number, node in enumerate(nodes):
            assert delete(node.api, "shared").status == 204
            for other in nodes:
                assert "shared" not in queues(other.api)
                assert_refused(delete(other.api, "shared"), 404, "not_found")
            back = nodes[(number + 1) % 3]
            used(back.api, target, "shared")
            for other in nodes:
                assert "shared" in queues(other.api)

    def test_what_another_node_has_planned_or_runs_keeps_it(self, nodes, target):
        first, second, _ = nodes
        task_id = first.api.submit(target.url("/gate/kept"), queue="kept")["id"]
        target.wait_calls(1, path="/gate/kept")
        assert_refused(delete(second.api, "kept"), 409, "queue_not_empty", "1 job")
        target.open("kept")
        first.api.finished(task_id)
        assert delete(second.api, "kept").status == 204

    def test_a_pause_of_a_queue_that_came_back_is_obeyed_on_all(self, nodes, target):
        first, second, third = nodes
        used(first.api, target, "paused")
        assert delete(second.api, "paused").status == 204
        assert third.api.post("/v1/queues/paused/pause").status == 200

        def held():
            task_id = first.api.submit(target.url("/ok/held"), queue="paused")["id"]
            first.api.finished(first.api.submit(target.url("/ok/beside"))["id"])
            return first.api.first_job(task_id)["state"] == "ready"

        wait_until(held, "the first node holds what is submitted to it")
        assert_refused(delete(first.api, "paused"), 409, "queue_not_empty")

    def test_what_any_node_acknowledges_while_it_is_deleted_is_in_a_queue_that_is_listed(self, nodes, target):
        race([node.where for node in nodes], target, "raced")
        for node in nodes:
            used(node.api, target, "raced")
            assert "raced" in queues(node.api)
