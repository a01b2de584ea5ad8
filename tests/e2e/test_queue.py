"""Queues: held and let go, the important first, and nobody starves."""

from support.client import FINAL, first_job_id
from support.times import to_ms
from support.wait import wait_until


def pause(api, queue):
    answer = api.post(f"/v1/queues/{queue}/pause")
    assert answer.status == 200, answer
    assert answer.json == {"queue": queue, "paused": True}


def resume(api, queue):
    answer = api.post(f"/v1/queues/{queue}/resume")
    assert answer.status == 200, answer
    assert answer.json == {"queue": queue, "paused": False}


def test_a_paused_queue_takes_submits_and_starts_nothing(api, target):
    pause(api, "held")
    held = api.submit_many([{"url": target.url("/ok/held"), "queue": "held"} for _ in range(20)])
    other = api.submit(target.url("/ok/other"), queue="other")
    api.finished(other["id"])
    assert {api.first_job(task_id)["state"] for task_id in held} == {"ready"}
    assert target.calls(path="/ok/held") == []
    resume(api, "held")
    assert {api.finished(task_id)["state"] for task_id in held} == {"success"}
    assert len(target.calls(path="/ok/held")) == 20


def test_a_pause_holds_what_was_planned_before_it(api, target):
    task = api.submit(target.url("/ok/before"), queue="later", **{"in": "2s"})
    pause(api, "later")
    job = api.wait_state(first_job_id(task["id"]), "ready", *FINAL)
    assert (job["state"], target.calls()) == ("ready", []), "it was started although its queue is held"
    resume(api, "later")
    assert api.finished(task["id"])["state"] == "success"


def test_pausing_twice_and_resuming_twice_is_fine(api):
    pause(api, "twice")
    pause(api, "twice")
    resume(api, "twice")
    resume(api, "twice")


def test_a_pause_outlives_a_restart(rota, target):
    pause(rota.api, "held")
    task = rota.api.submit(target.url("/ok/held"), queue="held")
    rota.kill()
    rota.start()
    beside = rota.api.submit(target.url("/ok/beside"))
    rota.api.finished(beside["id"])
    assert rota.api.first_job(task["id"])["state"] == "ready"
    assert target.calls(path="/ok/held") == []
    resume(rota.api, "held")
    assert rota.api.finished(task["id"])["state"] == "success"


def test_the_important_start_first(api, target):
    pause(api, "ranked")
    priorities = [3, 9, 0, 5, 7, 1, 9, 0, 5, 2] * 20
    ids = api.submit_many([{"url": target.url("/ok/ranked"), "queue": "ranked", "priority": p} for p in priorities])
    resume(api, "ranked")
    started = {p: [] for p in range(10)}
    for task_id, priority in zip(ids, priorities):
        started[priority].append(to_ms(api.finished(task_id)["started_at"]))
    used = [p for p in range(9, -1, -1) if started[p]]
    for higher, lower in zip(used, used[1:]):
        assert max(started[higher]) <= min(started[lower]), f"{lower} started before {higher}"


def test_of_equal_importance_the_earlier_planned_starts_first(api, target):
    pause(api, "order")
    later, sooner = [api.submit(target.url("/ok/order"), queue="order", **{"in": ahead})["id"] for ahead in ("700ms", "100ms")]
    for task_id in (later, sooner):
        api.wait_state(first_job_id(task_id), "ready")
    resume(api, "order")
    assert to_ms(api.finished(sooner)["started_at"]) <= to_ms(api.finished(later)["started_at"])


def test_a_queue_with_a_long_backlog_does_not_starve_another(api, target):
    """All of the crowd's calls hang until the test lets them go, so nothing but a share of its own can start the other."""
    crowd = api.submit_many([{"url": target.url("/gate/crowd"), "queue": "crowd", "timeout": "10m"} for _ in range(3000)])
    target.wait_calls(1, path="/gate/crowd")
    single = api.submit(target.url("/ok/single"), queue="quiet")
    assert api.finished(single["id"])["state"] == "success"
    assert api.first_job(single["id"])["sla_met"] is True
    assert api.pending() == len(crowd), "none of the crowd has ended"
    target.open("crowd")
    wait_until(lambda: api.pending() == 0, "the crowd is through", timeout=240, interval=0.1)
    assert len(target.calls(path="/gate/crowd")) == 3000


def test_a_slow_backlog_is_worked_off_beside_others(api, target):
    api.submit_many([{"url": target.url("/slow/100/a"), "queue": "a"} for _ in range(400)])
    fast = api.submit_many([{"url": target.url("/ok/b"), "queue": "b"} for _ in range(50)])
    assert {api.finished(task_id)["state"] for task_id in fast} == {"success"}
    api.wait_idle()
    assert len(target.calls(path="/slow")) == 400
