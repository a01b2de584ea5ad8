"""What the server says of itself."""

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
