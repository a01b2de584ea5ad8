"""What the server says of itself."""

import pytest

from support.client import FINAL
from support.wait import wait_until

STATES = {"blocked", "delayed", "ready", "watching", "reserved", "success", "aborted", "buried", "cancelled"}


def test_it_is_alive_and_ready(shared_api):
    assert shared_api.get("/healthz").status == 200
    ready = shared_api.get("/readyz")
    assert ready.status == 200
    assert ready.json.get("problems", []) == []


def test_every_state_is_counted(shared_api):
    stats = shared_api.read("/v1/stats")
    assert set(stats["states"]) == STATES
    assert stats["pending"] == sum(count for state, count in stats["states"].items() if state not in FINAL)


def test_the_counts_follow_the_jobs_and_pending_returns_to_zero(api, target):
    assert api.pending() == 0
    api.submit_many([{"url": target.url("/ok/a")} for _ in range(30)])
    api.submit_many([{"url": target.url("/status/500"), "retry": {"max": 1, "delay": "0s"}} for _ in range(7)])
    planned = api.submit_many([{"url": target.url("/ok/b"), "in": "1h"} for _ in range(5)])
    running = api.submit_many([{"url": target.url("/gate/stats"), "timeout": "10m"} for _ in range(3)])
    wait_until(lambda: api.pending() == len(planned) + len(running), "only the planned and the running are pending")
    wait_until(lambda: api.read("/v1/stats")["states"]["reserved"] == 3, "the running are counted as reserved")
    states = api.read("/v1/stats")["states"]
    assert (states["success"], states["aborted"], states["delayed"]) == (30, 7, 5)
    target.open("stats")
    for task_id in planned:
        assert api.post(f"/v1/tasks/{task_id}/cancel").status == 200
    api.wait_idle()
    states = api.read("/v1/stats")["states"]
    assert (states["success"], states["aborted"], states["cancelled"]) == (33, 7, 5)


def test_the_counts_survive_a_kill(rota, target):
    rota.api.submit_many([{"url": target.url("/ok/a")} for _ in range(20)])
    rota.api.submit_many([{"url": target.url("/ok/b"), "in": "1h"} for _ in range(4)])
    wait_until(lambda: rota.api.pending() == 4, "the first ones are done")
    rota.kill()
    rota.start()
    states = rota.api.read("/v1/stats")["states"]
    assert (states["success"], states["delayed"]) == (20, 4)


# ---- rates, lateness, and over time

def series(api, query=""):
    return api.read("/v1/stats/series" + query)["points"]


def total(api, name):
    return sum(point["counts"][name] for point in series(api))


def test_what_happened_in_the_last_minute_is_said(rota, target):
    empty = rota.api.read("/v1/stats")
    assert empty["rates"]["submitted"] == 0 and empty["lateness"] is None
    rota.api.submit_many([{"url": target.url("/ok/a")} for _ in range(50)])
    wait_until(lambda: rota.api.pending() == 0, "all have ended")
    stats = rota.api.read("/v1/stats")
    assert stats["window"] == "60s"
    assert set(stats["rates"]) == {"submitted", "started", "succeeded", "failed", "retried", "cancelled"}
    assert 1 <= stats["rates"]["submitted"] <= 50 and 1 <= stats["rates"]["started"] <= 50
    assert 0 <= stats["lateness"]["p50"] <= stats["lateness"]["p99"]
    assert stats["sla"]["met"] >= 1 and stats["sla"]["by_stage"] == {"puller": 0, "queue": 0, "target": 0}
    assert set(stats["stages"]) == {"puller", "queue", "target", "commit"}


def test_the_series_adds_up_to_what_happened(rota, target):
    rota.api.submit_many([{"url": target.url("/ok/a")} for _ in range(20)])
    rota.api.submit_many([{"url": target.url("/status/500"), "retry": {"max": 0}} for _ in range(3)])
    wait_until(lambda: total(rota.api, "failed") == 3 and total(rota.api, "succeeded") == 20, "all ends are counted")
    assert total(rota.api, "submitted") == total(rota.api, "started") == 23
    points = series(rota.api)
    assert 60 <= len(points) <= 61 and points == sorted(points, key=lambda point: point["at"])
    (hour,) = series(rota.api, "?step=2h")
    assert hour["counts"]["submitted"] == 23 and hour["sla"]["met"] == 23 and hour["lateness"]["p99"] >= 0


def test_the_series_survives_a_restart_and_goes_on(rota, target):
    rota.api.submit_many([{"url": target.url("/ok/a")} for _ in range(10)])
    wait_until(lambda: total(rota.api, "succeeded") == 10, "all ends are counted")
    rota.restart()
    assert total(rota.api, "succeeded") == 10
    rota.api.submit(target.url("/ok/a"))
    wait_until(lambda: total(rota.api, "succeeded") == 11, "what happens now is added")


@pytest.mark.stores("postgres")
def test_the_series_is_the_sum_of_all_nodes(nodes, target):
    for node in nodes:
        node.api.submit_many([{"url": target.url("/ok/a")} for _ in range(4)])
    for node in nodes:
        counted = lambda: (total(node.api, "submitted"), total(node.api, "succeeded"))
        wait_until(lambda: counted() == (12, 12), "each sees what all counted")
        assert node.api.read("/v1/stats")["rates"]["submitted"] >= 1


@pytest.mark.parametrize("query, field", [
    ("?from=yesterday", "from"), ("?to=2026-01-01", "to"), ("?step=90s", "step"), ("?step=0s", "step"), ("?step=x", "step"),
    ("?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
    ("?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "step"),
])
def test_a_range_that_makes_no_sense_is_refused(shared_api, query, field):
    answer = shared_api.get("/v1/stats/series" + query)
    assert (answer.status, answer.json["field"]) == (422, field)


def test_a_range_without_anything_is_all_zeros(shared_api):
    points = series(shared_api, "?from=2026-01-01T00:00:30Z&to=2026-01-01T01:00:00Z&step=10m")
    assert [point["at"] for point in points][:2] == ["2026-01-01T00:00:00.000Z", "2026-01-01T00:10:00.000Z"] and len(points) == 6
    assert all(set(point["counts"].values()) == {0} and point["lateness"] is None for point in points)
