"""Recurring tasks in the tests: making and steering them, and what every schedule owes, whatever happened to its nodes."""

import json

from support.times import to_ms, to_text
from support.wait import now_ms, wait_until

MERGE = {"Content-Type": "application/merge-patch+json"}
OPEN = ("delayed", "ready", "watching")


def recurring(api, url, **fields):
    answer = api.post("/v1/tasks", {"url": url, **fields})
    assert answer.status == 201, answer
    return answer.json


def patch(api, task_id, change):
    return api.request("PATCH", f"/v1/tasks/{task_id}", json.dumps(change), headers=MERGE)


def steer(api, task_id, verb, body=None):
    answer = api.post(f"/v1/tasks/{task_id}/{verb}", body)
    assert answer.status == 200, answer
    return answer.json


def ahead(api, task_id):
    """The jobs that are planned, by their instants."""
    return sorted((job for job in api.jobs(task_id) if job["state"] in OPEN and not job["attempts"]), key=lambda job: job["nominal_at"])


def nominals(calls):
    return [to_ms(call.header("Rota-Nominal-At")) for call in calls]


def scheduled(api, task_id):
    """The jobs of its schedule, by their instants. No instant has two, but for a job that a change of the schedule has cancelled."""
    jobs = [job for job in api.read(f"/v1/tasks/{task_id}/jobs?limit=1000")["items"] if job["trigger"] == "schedule"]
    jobs = [job for job in jobs if job["reason"] != "the schedule was changed"]
    by_instant = {to_ms(job["nominal_at"]): job for job in jobs}
    assert len(by_instant) == len(jobs), f"task {task_id}: an instant has two jobs"
    return by_instant


def skipped(api, task_id, step_ms):
    """The instants in its skips. None lies in two of them."""
    found = set()
    for skip in api.task(task_id)["skips"]:
        instants = set(range(to_ms(skip["from"]), to_ms(skip["to"]) + 1, step_ms))
        assert len(instants) == skip["count"] and not instants & found, f"task {task_id}: {skip} is not what it says"
        found |= instants
    return found


def covered(api, task_id, step_ms):
    """The instants that have a job or lie in a skip. The skips are read before and after the jobs: what was skipped in between
    is in neither."""
    while True:
        before = skipped(api, task_id, step_ms)
        jobs = scheduled(api, task_id)
        if skipped(api, task_id, step_ms) == before:
            return sorted(jobs.keys() | before)


def assert_every_instant_once(api, task_id, step_ms):
    """What a schedule owes: each instant since the first has exactly one job, or lies in one skip."""
    found = covered(api, task_id, step_ms)
    missing = sorted(set(range(found[0], found[-1] + 1, step_ms)) - set(found))
    assert not missing, f"task {task_id}: nothing is known of {[to_text(instant) for instant in missing]}"
    assert len(found) == (found[-1] - found[0]) // step_ms + 1, f"task {task_id}: there is more than its schedule says"


def wait_caught_up(api, task_id, step_ms):
    """Waits until five jobs lie ahead, the next of which is the next instant: nothing is late any more."""

    def caught_up():
        jobs = ahead(api, task_id)
        return len(jobs) >= 5 and abs(to_ms(jobs[0]["nominal_at"]) - now_ms()) <= step_ms + 1000

    wait_until(caught_up, f"five jobs of task {task_id} lie ahead, and nothing is late")
