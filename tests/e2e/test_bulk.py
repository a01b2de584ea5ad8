"""Bulks: an action on everything that matches, in batches, with progress, across restarts."""

import pytest

from support.wait import wait_until

COUNTS = ("matched", "changed", "unchanged", "failed")


def start(api, action, **filters):
    answer = api.post("/v1/bulk", {"action": action, "filter": {name.replace("label_", "label."): value for name, value in filters.items()}})
    assert answer.status == 202, answer
    assert answer.headers["Location"] == f"/v1/bulk/{answer.json['id']}"
    return answer.json["id"]


def ended(api, bulk_id):
    def look():
        bulk = api.read(f"/v1/bulk/{bulk_id}")
        return bulk if bulk["state"] != "running" else None

    return wait_until(look, f"bulk {bulk_id} has ended")


def counts(bulk):
    return tuple(bulk[name] for name in COUNTS)


def submit_planned(api, target, count, **fields):
    return api.submit_many([{"url": target.url("/ok/bulk"), "in": "1h", **fields}] * count)


def test_everything_that_matches_and_nothing_else(api, target):
    mail = submit_planned(api, target, 250, queue="mail")
    other = submit_planned(api, target, 20, queue="other")
    bulk = ended(api, start(api, "cancel", queue="mail", state="active"))
    assert (bulk["state"], counts(bulk)) == ("done", (250, 250, 0, 0))
    assert bulk["action"] == "cancel" and bulk["filter"] == {"queue": "mail", "state": "active"}
    assert bulk["ended_at"] >= bulk["created_at"]
    states = api.read("/v1/stats")["states"]
    assert (states["cancelled"], states["delayed"]) == (len(mail), len(other))


def test_each_action(api, target):
    submit_planned(api, target, 30, name="mine", labels={"k": "v"})
    submit_planned(api, target, 5)
    assert counts(ended(api, start(api, "pause", label_k="v"))) == (30, 30, 0, 0)
    assert len(api.read("/v1/tasks?state=paused")["items"]) == 30
    assert counts(ended(api, start(api, "run", name="mine"))) == (30, 0, 30, 0)  # they are paused
    assert counts(ended(api, start(api, "resume", state="paused"))) == (30, 30, 0, 0)
    assert counts(ended(api, start(api, "run", name="mine"))) == (30, 30, 0, 0)
    wait_until(lambda: api.read("/v1/stats")["states"]["success"] == 30, "they have run")
    assert counts(ended(api, start(api, "retry", state="success"))) == (30, 30, 0, 0)
    wait_until(lambda: api.read("/v1/stats")["states"]["success"] == 60, "they have run again")
    assert counts(ended(api, start(api, "delete", state="done"))) == (30, 30, 0, 0)
    assert len(api.read("/v1/tasks")["items"]) == 5
    wait_until(lambda: sum(api.read("/v1/stats")["states"].values()) == 5, "retention has removed them")


def test_one_that_matches_nothing(api):
    bulk = ended(api, start(api, "cancel", queue="nobody"))
    assert (bulk["state"], counts(bulk)) == ("done", (0, 0, 0, 0))


def test_it_goes_on_after_a_kill(rota, api, target):
    submit_planned(api, target, 3000)
    bulk_id = start(api, "cancel")
    wait_until(lambda: api.read(f"/v1/bulk/{bulk_id}")["matched"] > 0, "it has begun")
    rota.kill()
    rota.start()
    bulk = ended(rota.api, bulk_id)
    assert bulk["state"] == "done"
    assert bulk["matched"] == bulk["changed"] + bulk["unchanged"] == 3000
    assert rota.api.read("/v1/stats")["states"]["cancelled"] == 3000


def test_it_can_be_stopped(api, target):
    submit_planned(api, target, 5000)
    bulk_id = start(api, "cancel")
    wait_until(lambda: api.read(f"/v1/bulk/{bulk_id}")["matched"] > 0, "it has begun")
    answer = api.post(f"/v1/bulk/{bulk_id}/stop")
    assert (answer.status, answer.json["state"]) == (200, "stopped")
    seen = [None]

    def still():  # the batch that was under way is counted, and then no more
        before, seen[0] = seen[0], (api.read(f"/v1/bulk/{bulk_id}"), api.read("/v1/stats")["states"])
        return before == seen[0]

    wait_until(still, "nothing moves any more", interval=1.5)
    bulk, states = seen[0]
    assert 0 < bulk["changed"] == states["cancelled"] < 5000
    assert api.post(f"/v1/bulk/{bulk_id}/stop").json["state"] == "stopped"


@pytest.mark.stores("postgres")
def test_another_node_goes_on_when_the_one_that_was_at_it_dies(nodes, target):
    first, second, _ = nodes
    submit_planned(second.api, target, 3000)
    bulk_id = start(first.api, "cancel")
    wait_until(lambda: second.api.read(f"/v1/bulk/{bulk_id}")["matched"] > 0, "it has begun")
    for node in nodes:
        if node is not second:
            node.kill()
    bulk = ended(second.api, bulk_id)
    assert bulk["matched"] == bulk["changed"] + bulk["unchanged"] == 3000
    assert second.api.read("/v1/stats")["states"]["cancelled"] == 3000


@pytest.mark.parametrize("body, field", [
    ({}, "/action"),
    ({"action": "cancel"}, "/filter"),
    ({"filter": {}}, "/action"),
    ({"action": "burn", "filter": {}}, "/action"),
    ({"action": 1, "filter": {}}, "/action"),
    ({"action": "cancel", "filter": []}, "/filter"),
    ({"action": "cancel", "filter": {"state": "ready"}}, "/filter/state"),
    ({"action": "retry", "filter": {"state": "active"}}, "/filter/state"),
    ({"action": "cancel", "filter": {"state": 1}}, "/filter/state"),
    ({"action": "cancel", "filter": {"limit": "1"}}, "/filter/limit"),
    ({"action": "cancel", "filter": {}, "limit": 1}, "/limit"),
])
def test_a_bulk_that_is_wrong(shared_api, body, field):
    answer = shared_api.post("/v1/bulk", body)
    assert (answer.status, answer.json["field"]) == (422, field), answer


def test_refusals(shared_api):
    assert shared_api.post("/v1/bulk", "[").status == 400
    assert shared_api.post("/v1/bulk", [1]).status == 422
    for path in ("/v1/bulk/b0000000000001", "/v1/bulk/x", "/v1/bulk/t0000000000001"):
        assert shared_api.get(path).status == 404
    assert shared_api.post("/v1/bulk/b0000000000001/stop").status == 404
