"""GET /v1/events: what happens, as it happens, and nothing is missed without a word."""

import signal

import pytest

from support.client import first_job_id
from support.events import Events
from support.times import to_ms
from support.wait import now_ms, wait_until


@pytest.fixture
def listen(request):
    opened = []

    def listen(rota, query="", ready=True, **more):
        events = Events(rota.where(), query, **more)
        opened.append(events)
        if ready:
            events.wait_ready()
        return events

    yield listen
    for events in opened:
        events.close()


def types(events, task_id):
    return [event.type for event in events.of(task_id=task_id)]


def test_the_life_of_a_job_is_told_in_order(rota, target, listen):
    events = listen(rota)
    task = rota.api.submit(target.url("/ok/a"), name="a name \"of\" ours", queue="mail")
    rota.api.finished(task["id"])
    (end,) = events.wait("success")
    assert types(events, task["id"]) == ["submitted", "started", "success"]
    assert end.data["job_id"] == first_job_id(task["id"])
    assert (end.data["state"], end.data["queue"], end.data["name"]) == ("success", "mail", "a name \"of\" ours")
    assert (end.data["attempt"], end.data["status"], end.data["outcome"]) == (1, 200, "success")
    assert abs(to_ms(end.data["time"]) - now_ms()) < 60_000
    assert len({event.id for event in events.events if event.type != "ready"}) == 3


def test_failed_attempts_and_what_follows_are_told(rota, target, listen):
    events = listen(rota)
    task = rota.api.submit(target.url("/status/500"), retry={"max": 1, "delay": "0s"})
    (aborted,) = events.wait("aborted")
    assert types(events, task["id"]) == ["submitted", "started", "retried", "started", "aborted"]
    (retried,) = events.of("retried")
    assert (retried.data["attempt"], retried.data["status"], retried.data["outcome"]) == (1, 500, "failed")
    assert (retried.data["state"], aborted.data["state"], aborted.data["attempt"]) == ("delayed", "aborted", 2)
    assert retried.data["next_at"] and retried.data["reason"]


def test_steering_expiry_and_queues_are_told(rota, target, listen):
    events = listen(rota)
    planned = rota.api.submit(target.url("/ok/a"), **{"in": "1h"})
    assert rota.api.post(f"/v1/tasks/{planned['id']}/cancel").status == 200
    assert events.wait("cancelled")[0].data["task_id"] == planned["id"]
    assert rota.api.post("/v1/queues/held/pause").status == 200
    assert events.wait("queue_paused")[0].data["queue"] == "held"
    late = rota.api.submit(target.url("/ok/a"), queue="held", not_after="1s")
    (expired,) = events.wait("cancelled", task_id=late["id"])
    assert (expired.data["reason"], expired.data["queue"]) == ("expired", "held")
    assert rota.api.post("/v1/queues/held/resume").status == 200
    events.wait("queue_resumed")
    assert rota.api.request("DELETE", "/v1/queues/held").status == 204
    assert events.wait("queue_deleted")[0].data["queue"] == "held"
    job = rota.api.post(f"/v1/jobs/{first_job_id(planned['id'])}/retry")
    assert job.status == 201
    events.wait("submitted", job_id=job.json["id"])
    events.wait("success", job_id=job.json["id"])


def test_filters_leave_out_what_was_not_asked_for(rota, target, listen):
    wanted = rota.api.submit(target.url("/gate/wanted"))
    other = rota.api.submit(target.url("/gate/wanted"))
    of_one = listen(rota, f"?task={wanted['id']}")
    ends = listen(rota, "?type=success,aborted")
    of_one_end = listen(rota, f"?task={wanted['id']}&type=success")
    everything = listen(rota)
    more = rota.api.submit(target.url("/ok/a"))
    target.open("wanted")
    everything.wait("success", 3)
    assert len(ends.wait("success", 3)) == 3
    of_one.wait("success")
    of_one_end.wait("success")
    assert {event.data["task_id"] for event in of_one.events if event.type != "ready"} == {wanted["id"]}
    assert {event.type for event in ends.events} == {"ready", "success"}
    assert [event.type for event in of_one_end.events] == ["ready", "success"]
    assert {event.data["task_id"] for event in ends.of("success")} == {wanted["id"], other["id"], more["id"]}


def test_one_queue_can_be_listened_to(rota, target, listen):
    mail = listen(rota, "?queue=mail")
    ends = listen(rota, "?queue=mail&type=success")
    rota.api.submit(target.url("/ok/other"), queue="mailing")
    rota.api.post("/v1/queues/other/pause")
    rota.api.post("/v1/queues/mail/pause")
    wanted = rota.api.submit(target.url("/ok/wanted"), queue="mail")
    rota.api.post("/v1/queues/mail/resume")
    mail.wait("success")
    ends.wait("success")
    told = [(event.type, event.data.get("task_id", wanted["id"])) for event in mail.events if event.type != "ready"]
    assert told == [(kind, wanted["id"]) for kind in ["queue_paused", "submitted", "queue_resumed", "started", "success"]]
    assert [event.type for event in ends.events] == ["ready", "success"]


@pytest.mark.parametrize("query, code, field", [
    ("?type=nonsense", "invalid_field", "type"),
    ("?type=", "invalid_field", "type"),
    ("?task=j123", "invalid_field", "task"),
    ("?task=", "invalid_field", "task"),
    ("?queue=", "invalid_field", "queue"),
    ("?queue=a%20b", "invalid_field", "queue"),
    ("?queue=" + "q" * 65, "invalid_field", "queue"),
    ("?kind=mail", "unknown_field", "kind"),
    ("?last_event_id=1", "unknown_field", "last_event_id"),
])
def test_filters_that_mean_nothing_are_refused(shared_api, query, code, field):
    answer = shared_api.get("/v1/events" + query)
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, code, field)


def test_head_is_answered_without_a_stream(shared_api):
    answer = shared_api.request("HEAD", "/v1/events")
    assert (answer.status, answer.type, answer.body) == (200, "text/event-stream", b"")


def test_who_comes_back_is_told_what_it_missed(rota, target, listen):
    events = listen(rota)
    first = rota.api.submit(target.url("/ok/a"))
    (seen,) = events.wait("success")
    events.close()
    missed = rota.api.submit(target.url("/ok/b"))
    rota.api.finished(missed["id"])
    again = listen(rota, last_event_id=seen.id)
    assert types(again, missed["id"]) == ["submitted", "started", "success"]  # all of it before `ready`
    assert types(again, first["id"]) == [] and again.of("gap") == []
    ready = again.wait_ready()
    third = listen(rota, last_event_id=ready.id)
    assert [event.type for event in third.events] == ["ready"]  # whose id says that all before it was seen


@pytest.mark.parametrize("asked", ["0-1", "nonsense", "%s0", "0", "ffffffffffffffff-99999999999999999999"])
def test_a_gap_is_told_and_never_silent(rota, target, listen, asked):
    events = listen(rota)
    ready = events.wait_ready()
    again = listen(rota, last_event_id=asked % ready.id if "%s" in asked else asked)
    assert [event.type for event in again.events][:2] == ["gap", "ready"]
    rota.api.submit(target.url("/ok/a"))
    again.wait("success")


def test_what_was_kept_by_another_life_is_a_gap(rota, target, listen):
    events = listen(rota)
    rota.api.submit(target.url("/ok/a"))
    (seen,) = events.wait("success")
    events.close()
    rota.restart()
    again = listen(rota, last_event_id=seen.id)
    assert [event.type for event in again.events] == ["gap", "ready"]


def test_a_stop_ends_streams_at_once_and_cleanly(idle_rota, target, listen):
    idle_rota.start()
    task = idle_rota.api.submit(target.url("/gate/slow"), timeout="10m")
    target.wait_calls(1, path="/gate/slow")
    readers = [listen(idle_rota) for _ in range(5)]
    deaf = listen(idle_rota, ready=False, reading=False)
    idle_rota.terminate()
    for events in readers:
        events.wait_end()
        assert events.broken is None  # the end of the stream was sent
    assert not idle_rota.dead()  # it still waits for what runs
    target.open("slow")
    assert idle_rota.wait_end() == 0
    deaf.close()
    idle_rota.start()
    assert idle_rota.api.finished(task["id"])["state"] == "success"


def test_one_that_does_not_read_is_cut_off_and_the_others_go_on(rota, target, listen):
    """What is kept is bounded (32768 events), so a reader that falls further behind has to begin anew."""
    deaf = listen(rota, ready=False, reading=False)
    reader = listen(rota, "?type=success")
    tasks = [{"url": target.url("/ok/a"), "in": "1h", "name": "n" * 250} for _ in range(10_000)]
    for _ in range(4):
        assert rota.api.post("/v1/tasks?brief=1", tasks).status == 201
    last = rota.api.submit(target.url("/ok/a"))
    reader.wait("success", task_id=last["id"])
    wait_until(lambda: "rota_event_streams 1\n" in rota.api.get("/metrics").body.decode(), "the deaf one is cut off")
    deaf.read()
    deaf.wait_end()
    assert deaf.broken is not None  # it was cut: no end was sent
    assert deaf.of("submitted") and not deaf.of("success")
    again = listen(rota, last_event_id=deaf.events[-1].id)
    assert again.events[0].type == "gap"


def test_a_client_that_left_is_forgotten(rota, target, listen):
    for _ in range(3):
        listen(rota).close()
    rota.api.submit(target.url("/ok/a"))  # whatever is told to it shows that it is gone
    wait_until(lambda: "rota_event_streams 0\n" in rota.api.get("/metrics").body.decode(), "no stream is open")


def test_a_silent_stream_is_kept_alive_by_comments(rota, listen):
    events = listen(rota)
    wait_until(lambda: events.comments >= 2, "comments came while nothing happened")
    assert not events.ended


# ---- several nodes

@pytest.mark.stores("postgres")
def test_a_client_of_one_node_sees_the_events_of_all(nodes, target, listen):
    events = [listen(node) for node in nodes[:2]]
    tasks = [node.api.submit(target.url("/ok/a"))["id"] for node in nodes for _ in range(5)]
    for stream in events:
        for task_id in tasks:
            for type_ in ("submitted", "started", "success"):  # of several nodes, so in any order
                stream.wait(type_, task_id=task_id)
            assert sorted(types(stream, task_id)) == ["started", "submitted", "success"]
        assert stream.of("gap") == []


@pytest.mark.stores("postgres")
def test_nodes_that_come_and_go_are_heard(nodes, target, listen):
    first, second, third = nodes
    third.stop()
    events = listen(first)
    third.start()
    task = third.api.submit(target.url("/ok/a"))
    events.wait("submitted", task_id=task["id"])
    events.wait("success", task_id=task["id"])
    gate = third.api.submit(target.url("/gate/leaving"), timeout="10m")
    target.wait_calls(1, path="/gate/leaving")
    third.terminate()
    target.open("leaving")
    assert third.wait_end() == 0
    events.wait("success", task_id=gate["id"])
    second.kill()
    second.start()
    again = second.api.submit(target.url("/ok/b"))
    events.wait("submitted", task_id=again["id"])
    assert events.of("gap") == []


@pytest.mark.stores("postgres")
def test_nothing_is_written_while_nobody_listens(nodes, place, cluster, target):
    schema = place["store"].split("schema=")[1]
    ask = lambda sql: int(cluster.sql(sql.format(schema)))
    for node in nodes:
        node.api.finished(node.api.submit(target.url("/ok/a"))["id"])
    # Who has just come cannot know that nobody listens; it does with its second beat.
    wait_until(lambda: ask("SELECT count(*) FROM {}.incarnations WHERE relays OR listens") == 0, "nobody relays")
    before = ask("SELECT coalesce(sum(number), 0) FROM {}.events")
    for node in nodes:
        node.api.finished(node.api.submit(target.url("/ok/a"))["id"])
    assert ask("SELECT coalesce(sum(number), 0) FROM {}.events") <= before


@pytest.mark.stores("postgres")
def test_a_database_that_was_away_leaves_a_gap_or_nothing_missing(its_nodes, own_cluster, target, listen):
    first, second, _ = its_nodes
    events = listen(first)
    own_cluster.stop(signal.SIGQUIT)  # as after a crash: what was put out is gone
    own_cluster.start()
    for node in its_nodes:
        node.wait_ready()
    task = second.api.submit(target.url("/ok/a"))
    events.wait("success", task_id=task["id"])
    assert events.of("gap") or sorted(types(events, task["id"])) == ["started", "submitted", "success"]
