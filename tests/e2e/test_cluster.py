"""Three nodes on one database: killed, frozen and restarted in turn under load. Any node answers any request."""

import re

import pytest

from support.client import FINAL, first_job_id
from support.figures import tell
from support.ledger import ACKED, Ledger
from support.load import Load, settle
from support.times import to_ms
from support.wait import now_ms, wait_until

pytestmark = pytest.mark.stores("postgres")

RATE = 60  # submits a second
PATIENCE_S = 10  # of a client whose node does not answer: it may be frozen
FROZEN_MS = 30_000
TAKEN_OVER_S = 30


def outcomes(ledger):
    return {attempt["outcome"] for seen in ledger.seen.values() for attempt in seen[-1].job["attempts"]}


@pytest.mark.slow
def test_nodes_killed_and_started_again_in_turn(nodes, target):
    ledger = Ledger()
    with Load(nodes, target, ledger, rate=RATE) as load:
        for node in nodes * 2:
            load.wait_acked(100)
            node.kill()
            load.wait_acked(50)  # by the others
            node.start()
        load.wait_acked(100)
    assert load.failures == []
    fates = settle(nodes, target, ledger)
    print(f"6 kills: {fates}, {len(target.calls())} calls, all accounted for")


@pytest.mark.slow
def test_a_node_frozen_for_30_s_is_replaced_and_begins_a_new_life(nodes, target):
    frozen, *others = nodes
    ledger = Ledger()
    with Load(nodes, target, ledger, rate=RATE, patience=PATIENCE_S) as load:
        load.wait_acked(100)
        held = [start_at(frozen, target, ledger) for _ in range(10)]
        started = len(target.calls(path="/gate/held"))
        began = now_ms()
        frozen.freeze()
        try:
            target.wait_calls(started + len(held), path="/gate/held")
            wait_until(lambda: now_ms() - began >= FROZEN_MS, "30 s have passed", interval=0.1)
        finally:
            frozen.thaw()
        target.open("held")  # both runs get their answer at once
        wait_until(lambda: "it begins a new life" in frozen.log_text(), "the woken node learns that it was declared dead")
        frozen.wait_ready()
        load.wait_acked(100)
    assert load.failures == []
    for task_id in held:
        job = frozen.api.finished(task_id)
        assert (job["state"], [attempt["outcome"] for attempt in job["attempts"]]) == ("success", ["lost", "success"])
    settle(nodes, target, ledger)
    took = max(call.arrived for call in target.calls(path="/gate/held")) - began
    tell("node frozen: its jobs are run again after", took / 1000, TAKEN_OVER_S)


@pytest.mark.slow
def test_what_a_frozen_node_holds_can_be_cancelled_through_another(nodes, target):
    """Who holds it does not answer, so it takes until that one is declared dead. Afterwards nobody starts it, nor does the holder
    when it wakes."""
    frozen, other, _ = nodes
    ledger = Ledger()
    task_id = start_at(frozen, target, ledger)
    (submit,) = [one for one in ledger.with_fate(ACKED) if one.task_id == task_id]
    frozen.freeze()
    try:
        ledger.cancel_sent(submit)
        wait_until(lambda: cancels(other.api, task_id), "the cancel is confirmed")
        ledger.cancel_confirmed(submit, now_ms() + 1)
        assert other.api.first_job(task_id)["state"] == "cancelled"
        assert [call.task_id for call in target.calls()].count(task_id) == 1, "it was started once more before it was cancelled"
    finally:
        frozen.thaw()
    target.open("held")
    wait_until(lambda: "it begins a new life" in frozen.log_text(), "the woken node learns that it was declared dead")
    frozen.wait_ready()
    beside = [node.api.submit(target.url(f"/ok?{ledger.new_submit().marker}"))["id"] for node in nodes]
    assert {frozen.api.finished(one)["state"] for one in beside} == {"success"}
    ledger.assert_clean(frozen.api, target)
    assert frozen.api.first_job(task_id)["state"] == "cancelled"


def cancels(api, task_id):
    """False: it could not be done yet, and the client is told to ask again."""
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert answer.status == 200 or (answer.status == 503 and answer.headers["Retry-After"]), answer
    return answer.status == 200


def start_at(node, target, ledger):
    """A job that this node runs, and goes on running: the gate is closed."""
    incarnation = re.findall(r"this node is incarnation (\w+)", node.log_text())[-1]
    while True:  # of a queue that is new to it another may be quicker
        submit = ledger.new_submit()
        task_id = node.api.submit(target.url(f"/gate/held?{submit.marker}"), timeout="10m", queue="held")["id"]
        ledger.acked(submit, task_id)
        if node.api.wait_state(first_job_id(task_id), "reserved")["executor"] == incarnation:
            return task_id


@pytest.mark.slow
def test_a_rolling_restart_costs_nobody_anything(nodes, target):
    ledger = Ledger()
    with Load(nodes, target, ledger, rate=RATE) as load:
        for node in nodes:
            load.wait_acked(100)
            node.stop()
            load.wait_acked(50)  # by the others
            node.start()
        load.wait_acked(100)
    assert load.failures == []
    assert load.broken == [], "an answer was cut off in the middle"
    settle(nodes, target, ledger)
    assert "lost" not in outcomes(ledger), "a graceful stop lost an attempt"
    late = [seen[-1].job["id"] for seen in ledger.seen.values() if seen[-1].job["sla_met"] is False]
    assert late == []


def test_any_node_knows_every_task(nodes, target):
    a, b, c = [node.api for node in nodes]
    task_id = a.submit(target.url("/ok/any"), name="from a")["id"]
    assert b.task(task_id)["name"] == "from a"
    assert c.finished(task_id)["state"] == "success"
    assert a.first_job(task_id) == b.first_job(task_id) == c.first_job(task_id)


def test_any_node_finds_the_task_of_a_key(nodes, target):
    task = {"url": target.url("/ok/key"), "key": "everywhere"}
    answers = [node.api.post("/v1/tasks", task) for node in nodes]
    assert [answer.status for answer in answers] == [201, 200, 200]
    assert len({answer.json["id"] for answer in answers}) == 1
    other = nodes[1].api.post("/v1/tasks", dict(task, url=target.url("/ok/other")))
    assert (other.status, other.json["code"]) == (409, "key_reused")
    nodes[2].api.finished(answers[0].json["id"])
    assert len(target.calls()) == 1


def test_any_node_cancels_what_is_planned(nodes, target):
    a, b, c = [node.api for node in nodes]
    for ahead in ("1h", "3s"):  # nobody holds the first, and somebody soon watches the second
        task_id = a.submit(target.url("/ok/cancelled"), **{"in": ahead})["id"]
        if ahead == "3s":
            b.wait_state(first_job_id(task_id), "watching", *FINAL)
        assert c.post(f"/v1/tasks/{task_id}/cancel").status == 200
        assert b.first_job(task_id)["state"] == "cancelled"
    later = b.submit(target.url("/ok/later"), **{"in": "4s"})["id"]
    a.finished(later)
    assert target.calls(path="/ok/cancelled") == []


@pytest.mark.parametrize("canceller", [0, 1, 2])
def test_any_node_cancels_what_runs_elsewhere(nodes, target, canceller):
    """The call is broken off, and after the answer no attempt begins, although there are tries left."""
    a, other = nodes[0].api, nodes[canceller].api
    task_id = a.submit(target.url("/gate/never"), timeout="10m", retry={"max": 3, "delay": "0s"})["id"]
    (call,) = target.wait_calls(1)
    a.wait_state(first_job_id(task_id), "reserved")
    answer = other.post(f"/v1/tasks/{task_id}/cancel")
    assert answer.status == 200, answer
    job = other.first_job(task_id)
    assert (job["state"], [attempt["outcome"] for attempt in job["attempts"]]) == ("cancelled", ["cancelled"])
    wait_until(lambda: call.ended, "the node that runs it breaks the call off")
    assert len(target.calls()) == 1


def test_a_retry_and_a_run_by_hand_through_another_node(nodes, target):
    a, b, c = [node.api for node in nodes]
    failed = a.submit(target.url("/fail/1"), retry={"max": 0})["id"]
    assert b.finished(failed)["state"] == "aborted"
    again = c.post(f"/v1/jobs/{first_job_id(failed)}/retry")
    assert again.status == 201, again
    a.wait_state(again.json["id"], *FINAL)
    early = a.submit(target.url("/ok/early"), **{"in": "1h"})["id"]
    assert b.post(f"/v1/tasks/{early}/run").status == 200
    assert c.finished(early)["state"] == "success"


def test_what_is_in_another_hand_is_run_now(nodes, target):
    a, b, c = [node.api for node in nodes]
    task_id = a.submit(target.url("/ok/hurried"), **{"in": "4s"})["id"]  # near: somebody has it in hand at once
    planned = a.task(task_id)["scheduled_at"]
    b.wait_state(first_job_id(task_id), "watching", *FINAL)
    assert c.post(f"/v1/tasks/{task_id}/run").status == 200
    job = c.finished(task_id)
    assert (job["state"], len(target.calls())) == ("success", 1)
    assert to_ms(job["scheduled_at"]) < to_ms(planned)


def test_a_pause_on_one_node_is_obeyed_on_all(nodes, target):
    """The others learn of it a moment later. Several rounds, because a node learns what there is to know of a queue by and by."""
    for number in range(5):
        pauser, resumer = nodes[number % 3], nodes[(number + 1) % 3]
        assert pauser.api.post("/v1/queues/held/pause").status == 200
        for node in nodes:
            wait_until(lambda: holds(node, target), "a node holds what is submitted to it")
        before = target.calls(path="/ok/held")
        held = [node.api.submit(target.url("/ok/held"), queue="held")["id"] for node in nodes for _ in range(3)]
        for node in nodes:
            node.api.finished(node.api.submit(target.url("/ok/other"), queue="other")["id"])
        assert {pauser.api.first_job(task_id)["state"] for task_id in held} == {"ready"}
        assert target.calls(path="/ok/held") == before
        assert resumer.api.post("/v1/queues/held/resume").status == 200
        assert {pauser.api.finished(task_id)["state"] for task_id in held} == {"success"}


def holds(node, target):
    held = node.api.submit(target.url("/ok/held"), queue="held")["id"]
    node.api.finished(node.api.submit(target.url("/ok/other"), queue="other")["id"])
    return node.api.first_job(held)["state"] == "ready"


def test_all_nodes_count_the_same(nodes, target):
    for i, node in enumerate(nodes):
        node.api.submit_many([{"url": target.url("/ok")} for _ in range(10 * (i + 1))])
        node.api.submit_many([{"url": target.url("/ok"), "in": "1h"} for _ in range(i + 1)])
        node.api.submit_many([{"url": target.url("/status/404"), "retry": {"max": 0}} for _ in range(2)])
    wait_until(lambda: nodes[0].api.pending() == 6, "only what is planned is left")
    stats = [node.api.read("/v1/stats")["states"] for node in nodes]
    assert stats[0] == stats[1] == stats[2]
    assert (stats[0]["success"], stats[0]["delayed"], stats[0]["aborted"]) == (60, 6, 6)


def test_many_due_at_one_instant_run_once_each(nodes, target):
    """All nodes reach for them at the same moment."""
    at = now_ms() + 3000
    tasks = [{"url": target.url("/ok"), "in": "3s"} for _ in range(300)]
    ids = [task_id for node in nodes for task_id in node.api.submit_many(tasks)]
    nodes[0].api.wait_idle()
    calls = target.calls()
    assert len(calls) == len({call.job_id for call in calls}) == len(ids)
    assert min(call.arrived for call in calls) >= at


class TestRoles:
    def test_who_takes_requests_leaves_the_running_to_others(self, divided, target):
        a, b, runner = divided
        runner.stop()
        task_id = a.api.submit(target.url("/ok/later"))["id"]
        planned = b.api.submit(target.url("/ok/planned"), **{"in": "1s"})["id"]
        for api in (a.api, b.api):
            api.wait_state(first_job_id(planned), "ready", *FINAL)
        assert (b.api.first_job(task_id)["state"], target.calls()) == ("ready", [])
        runner.start()
        assert {a.api.finished(task_id)["state"], b.api.finished(planned)["state"]} == {"success"}

    def test_who_runs_jobs_takes_no_requests(self, divided, target):
        runner = divided[2].api
        assert runner.get("/healthz").status == runner.get("/readyz").status == 200
        refused = runner.post("/v1/tasks", {"url": target.url("/ok/refused")})
        assert (refused.status, refused.json["code"]) == (421, "not_here")
        assert "api" in refused.json["detail"]

    def test_what_runs_elsewhere_is_cancelled(self, divided, target):
        a, b, _ = [node.api for node in divided]
        task_id = a.submit(target.url("/gate/never"), timeout="10m")["id"]
        (call,) = target.wait_calls(1)
        assert b.post(f"/v1/tasks/{task_id}/cancel").status == 200
        assert a.first_job(task_id)["state"] == "cancelled"
        wait_until(lambda: call.ended, "the call is broken off")

    @pytest.mark.slow
    def test_every_kind_of_node_is_killed_in_turn(self, divided, target):
        *doors, runner = divided
        ledger = Ledger()
        with Load(doors, target, ledger, rate=RATE) as load:
            for node in [doors[0], runner, doors[1], runner]:
                load.wait_acked(60)
                node.kill()
                load.wait_acked(30)  # by the others
                node.start()
        assert load.failures == []
        settle(doors, target, ledger)
