"""Backfills: instants of a schedule that have passed get jobs, each of them one, so many at once."""

import datetime
import os
from collections import Counter

import pytest

from support.problem import assert_problem
from support.times import to_ms
from support.wait import now_ms, wait_until

DAY = 24 * 3600 * 1000


def text(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def noonly(api, url, **fields):
    """A task that runs at noon, created now: all instants that have passed lie before its creation."""
    answer = api.post("/v1/tasks", {"url": url, "cron": "0 12 * * *", **fields})
    assert answer.status == 201, answer
    return answer.json["id"]


def noons(count):
    """The last noons that have passed, yesterday's the last."""
    last = now_ms() // DAY * DAY - DAY // 2
    return [last - DAY * i for i in reversed(range(count))]


def window(instants):
    return {"from": text(instants[0]), "to": text(instants[-1])}


def ask(api, task_id, status, **body):
    answer = api.post(f"/v1/tasks/{task_id}/backfill", body)
    assert answer.status == status, answer
    return answer.json


def dry(api, task_id, **body):
    return ask(api, task_id, 200, dry_run=True, **body)["instants"]


def ended(api, bulk):
    def look():
        now = api.read(f"/v1/bulk/{bulk['id']}")
        return now if now["state"] != "running" else None

    return wait_until(look, f"{bulk['id']} has ended")


def backfilled(api, task_id):
    return [job for job in api.jobs(task_id) if job["trigger"] == "backfill"]


def times(jobs):
    return sorted(to_ms(job["nominal_at"]) for job in jobs)


def test_instants_before_the_creation_run_once_and_say_what_they_are(shared_api, target):
    task_id = noonly(shared_api, target.url("/ok/fill"))
    instants = noons(5)
    bulk = ask(shared_api, task_id, 202, max_active=3, **window(instants))
    assert (bulk["action"], bulk["task_id"], bulk["state"]) == ("backfill", task_id, "running")
    assert bulk["backfill"] == {"max_active": 3, **window(instants)}
    bulk = ended(shared_api, bulk)
    assert (bulk["state"], bulk["matched"], bulk["changed"], bulk["failed"]) == ("done", 5, 5, 0)
    jobs = backfilled(shared_api, task_id)
    assert times(jobs) == instants and {job["state"] for job in jobs} == {"success"}
    calls = target.calls(path="/ok/fill")
    assert sorted(to_ms(call.header("Rota-Nominal-At")) for call in calls) == instants
    assert {call.header("Rota-Trigger") for call in calls} == {"backfill"}


def test_no_more_run_at_once_than_may_be_active(shared_api, target):
    task_id = noonly(shared_api, target.url("/gate/fill2"))
    instants = noons(5)
    bulk = ask(shared_api, task_id, 202, max_active=2, **window(instants))
    target.wait_calls(2, path="/gate/fill2")
    state = shared_api.read(f"/v1/bulk/{bulk['id']}")
    assert (state["state"], state["matched"], state["changed"]) == ("running", 5, 2)
    assert times(backfilled(shared_api, task_id)) == instants[:2]
    target.open("fill2")
    assert ended(shared_api, bulk)["changed"] == 5
    assert times(backfilled(shared_api, task_id)) == instants


def test_a_hundred_instants_run_one_after_the_other(shared_api, target):
    task_id = noonly(shared_api, target.url("/ok/hundred"))
    instants = noons(100)
    bulk = ended(shared_api, ask(shared_api, task_id, 202, **window(instants)))
    assert (bulk["state"], bulk["changed"]) == ("done", 100)
    assert [to_ms(call.header("Rota-Nominal-At")) for call in target.calls(path="/ok/hundred")] == instants


def test_what_has_run_runs_again_only_if_asked_for(shared_api, target):
    task_id = noonly(shared_api, target.url("/status/400/fill"), retry={"max": 0})
    instants = noons(3)
    ended(shared_api, ask(shared_api, task_id, 202, max_active=3, **window(instants[:2])))
    assert {job["state"] for job in backfilled(shared_api, task_id)} <= {"aborted", "buried"}
    assert dry(shared_api, task_id, **window(instants)) == 1
    assert dry(shared_api, task_id, reprocess="failed", **window(instants)) == 3
    ended(shared_api, ask(shared_api, task_id, 202, max_active=3, reprocess="failed", **window(instants[:1])))
    assert times(backfilled(shared_api, task_id)) == sorted(instants[:2] + instants[:1])
    assert dry(shared_api, task_id, reprocess="all", **window(instants)) == 3


def test_a_success_is_not_a_failure(shared_api, target):
    task_id = noonly(shared_api, target.url("/ok/fill4"))
    instants = noons(2)
    ended(shared_api, ask(shared_api, task_id, 202, max_active=2, **window(instants)))
    for reprocess, count in (("none", 0), ("failed", 0), ("all", 2)):
        assert dry(shared_api, task_id, reprocess=reprocess, **window(instants)) == count
    bulk = ended(shared_api, ask(shared_api, task_id, 202, **window(instants)))
    assert (bulk["state"], bulk["matched"], bulk["changed"]) == ("done", 0, 0)


def test_a_dry_run_says_which_instants_and_writes_nothing(shared_api, target):
    task_id = noonly(shared_api, target.url("/ok/fill5"))
    instants = noons(150)
    answer = ask(shared_api, task_id, 200, dry_run=True, **window(instants))
    assert (answer["instants"], to_ms(answer["first"]), to_ms(answer["last"])) == (150, instants[0], instants[-1])
    assert [to_ms(at) for at in answer["runs"]] == instants[:100]
    nothing = ask(shared_api, task_id, 200, dry_run=True, **{"from": text(instants[0] + 1000), "to": text(instants[0] + 2000)})
    assert nothing == {"instants": 0, "first": None, "last": None, "runs": []}
    assert backfilled(shared_api, task_id) == []


def test_excluded_instants_are_never_run(shared_api, target):
    instants = noons(3)
    task_id = noonly(shared_api, target.url("/ok/fill6"), exclude=[text(instants[1])[:10]])
    runs = ask(shared_api, task_id, 200, dry_run=True, reprocess="all", **window(instants))["runs"]
    assert [to_ms(at) for at in runs] == [instants[0], instants[2]]


def test_it_goes_on_after_a_kill(rota, api, target):
    task_id = noonly(api, target.url("/gate/fill7"))
    instants = noons(4)
    bulk = ask(api, task_id, 202, max_active=2, **window(instants))
    target.wait_calls(2, path="/gate/fill7")
    rota.kill()
    rota.start()
    target.open("fill7")
    bulk = ended(rota.api, bulk)
    assert (bulk["state"], bulk["matched"], bulk["changed"]) == ("done", 4, 4)
    assert times(backfilled(rota.api, task_id)) == instants


@pytest.mark.parametrize("point", ["admit.before_submit:2", "admit.after_commit:2"])
def test_a_death_while_jobs_are_added_neither_loses_nor_repeats_one(idle_rota, target, point):
    assert os.environ.get("ROTA_CRASH_POINTS") == "1", "build with -Dcrash_points=true and set ROTA_CRASH_POINTS=1"
    rota = idle_rota
    rota.start(crash=point)
    task_id = noonly(rota.api, target.url("/ok/fill8"))  # the first addition; the backfill's is the second
    instants = noons(5)
    bulk = ask(rota.api, task_id, 202, max_active=3, **window(instants))
    wait_until(rota.dead, "it has died")
    rota.forget()
    rota.start()
    bulk = ended(rota.api, bulk)
    assert (bulk["state"], bulk["matched"], bulk["changed"]) == ("done", 5, 5)
    assert Counter(times(backfilled(rota.api, task_id))) == Counter(instants)


def test_it_can_be_stopped_and_leaves_what_has_begun(shared_api, target):
    task_id = noonly(shared_api, target.url("/gate/fill9"))
    bulk = ask(shared_api, task_id, 202, **window(noons(3)))
    target.wait_calls(1, path="/gate/fill9")
    stopped = shared_api.post(f"/v1/bulk/{bulk['id']}/stop")
    assert (stopped.status, stopped.json["state"]) == (200, "stopped")
    target.open("fill9")
    wait_until(lambda: [job["state"] for job in backfilled(shared_api, task_id)] == ["success"], "it has ended")
    other = ask(shared_api, task_id, 202, reprocess="all", **window(noons(1)))  # whose rounds the stopped one would share
    ended(shared_api, other)
    assert len(backfilled(shared_api, task_id)) == 2


def test_it_waits_with_a_paused_task_and_ends_with_a_deleted_one(shared_api, target):
    task_id = noonly(shared_api, target.url("/ok/fill10"))
    assert shared_api.post(f"/v1/tasks/{task_id}/pause").status == 200
    bulk = ask(shared_api, task_id, 202, **window(noons(2)))
    wait_until(lambda: len(backfilled(shared_api, task_id)) == 1, "its first job waits")
    assert shared_api.post(f"/v1/tasks/{task_id}/resume").status == 200
    assert ended(shared_api, bulk)["changed"] == 2
    assert shared_api.post(f"/v1/tasks/{task_id}/pause").status == 200
    bulk = ask(shared_api, task_id, 202, reprocess="all", **window(noons(2)))
    assert shared_api.request("DELETE", f"/v1/tasks/{task_id}").status in (200, 204)
    assert ended(shared_api, bulk)["state"] == "done"


def test_skipped_instants_run_and_those_that_ran_do_not(shared_api, target):
    task_id = shared_api.post("/v1/tasks", {"url": target.url("/gate/fill11"), "every": "1s", "overlap": "skip"}).json["id"]
    skipped = wait_until(lambda: shared_api.task(task_id)["skips"], "an instant was skipped")
    first = to_ms(skipped[0]["from"])
    target.open("fill11")
    run = to_ms(shared_api.task(task_id)["created_at"]) + 1000
    assert run < first

    def exactly(at):
        stamp = shared_api.jobs(task_id) and next(job["nominal_at"] for job in shared_api.jobs(task_id) if to_ms(job["nominal_at"]) == at)
        return {"from": stamp, "to": stamp}

    wait_until(lambda: dry(shared_api, task_id, **exactly(first)) == 1, "its job is cancelled: until then it may still run")
    wait_until(lambda: dry(shared_api, task_id, reprocess="all", **exactly(run)) == 1, "the first run has ended")
    assert dry(shared_api, task_id, **exactly(run)) == 0
    shared_api.post(f"/v1/tasks/{task_id}/cancel")


class TestRefusals:
    def test_what_is_wrong_is_named(self, shared_api, target):
        task_id = noonly(shared_api, target.url("/ok"))
        path, good = f"/v1/tasks/{task_id}/backfill", window(noons(2))
        for change, field in (
            ({"to": text(now_ms() + DAY)}, "/to"),
            ({"to": text(now_ms() - 90 * DAY)}, "/to"),
            ({"from": "yesterday"}, "/from"),
            ({"max_active": 101}, "/max_active"),
            ({"reprocess": "some"}, "/reprocess"),
            ({"filter": {}}, "/filter"),
        ):
            answer = shared_api.post(path, {**good, **change})
            assert (answer.status, answer.json["field"]) == (422, field), answer
        answer = shared_api.post(path, {"from": good["from"]})
        assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "missing_field", "/to")

    def test_more_than_100000_instants(self, shared_api, target):
        task_id = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "cron": "* * * * *"}).json["id"]
        answer = shared_api.post(f"/v1/tasks/{task_id}/backfill", {"from": text(now_ms() - 100 * DAY), "to": text(now_ms() - DAY)})
        assert answer.status == 422 and "100000" in answer.json["detail"], answer
        shared_api.post(f"/v1/tasks/{task_id}/cancel")

    def test_a_task_that_does_not_recur_and_one_that_is_not_there(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        assert_problem(shared_api.post(f"/v1/tasks/{task['id']}/backfill", window(noons(2))), 422, "invalid_field")
        assert_problem(shared_api.post("/v1/tasks/t0000000000001/backfill", window(noons(2))), 404, "not_found")


class TestVerb:
    def test_a_dry_run_prints_the_runs(self, shared, target):
        task_id = noonly(shared.api, target.url("/ok"))
        instants = noons(102)
        done = shared.cli("backfill", task_id, "--from", text(instants[0]), "--to", text(instants[-1]), "--dry-run")
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and [to_ms(line) for line in lines[:100]] == instants[:100]
        assert lines[100].startswith("… and 2 more") and len(lines) == 101
        done = shared.cli("backfill", task_id, "--from", text(instants[0] + 1000), "--to", text(instants[0] + 2000), "--dry-run")
        assert (done.returncode, done.stdout) == (0, "(nothing to run)\n")

    def test_it_waits_for_the_end(self, shared, target):
        task_id = noonly(shared.api, target.url("/ok"))
        instants = noons(3)
        when = ("--from", text(instants[0]), "--to", text(instants[-1]))
        done = shared.cli("backfill", task_id, *when, "--max-active", "3", "--wait", "-o", "json")
        assert done.returncode == 0 and '"changed": 3' in done.stdout, done
        assert {job["state"] for job in backfilled(shared.api, task_id)} == {"success"}
        assert shared.cli("backfill", task_id, *when, "--dry-run").stdout == "(nothing to run)\n"
        done = shared.cli("backfill", task_id, *when, "--reprocess", "all")
        assert done.returncode == 0 and f"backfill of {task_id} from" in done.stdout, done

    def test_what_is_wrong_is_said(self, shared):
        assert shared.cli("backfill", "t0000000000001").returncode == 2
        assert shared.cli("backfill", "t0000000000001", "--from", "x", "--to", "y").returncode == 2
        assert shared.cli("backfill", "t0000000000001", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z").returncode == 3
