"""Recurring tasks: one job for each instant, what becomes of instants that were missed, and what is seen of it."""

import pytest

from support.events import Events
from support.problem import assert_problem
from support.recurring import ahead, assert_every_instant_once, nominals, patch, recurring, steer
from support.times import to_ms
from support.wait import now_ms, pass_time, wait_until


class TestPlan:
    def test_the_next_five_runs_are_planned_and_shown(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 12 * * *", timezone="Europe/Berlin", name="noon")
        jobs = ahead(shared_api, task["id"])
        assert task["state"] == "active" and task["outcome"] == "pending"
        assert task["runs"] == {"success": 0, "failed": 0, "planned": 5}
        assert [job["trigger"] for job in jobs] == ["schedule"] * 5
        assert task["scheduled_at"] == jobs[-1]["scheduled_at"] and task["next_at"] == jobs[0]["scheduled_at"]
        assert all(job["nominal_at"] == job["scheduled_at"] for job in jobs)
        assert (task["cron"], task["timezone"], task["misfire"], task["overlap"]) == ("0 12 * * *", "Europe/Berlin", "one", "allow")
        assert (task["paused"], task["skips"], task["last_at"], task["success_rate"]) == (None, [], None, None)
        assert shared_api.task(task["id"]) == task

    def test_each_instant_is_called_once_and_says_which_it_is(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/tick"), every="1s")
        target.wait_calls(4, path="/ok/tick")
        calls = sorted(target.calls(path="/ok/tick"), key=lambda call: call.header("Rota-Nominal-At"))
        first = to_ms(task["created_at"]) + 1000
        assert nominals(calls) == list(range(first, first + 1000 * len(calls), 1000))
        assert {call.header("Rota-Trigger") for call in calls} == {"schedule"}
        assert all(call.arrived >= instant for call, instant in zip(calls, nominals(calls)))
        wait_until(lambda: shared_api.task(task["id"])["runs"]["success"] >= 4)
        shown = shared_api.task(task["id"])
        assert shown["outcome"] == "success" and shown["success_rate"] == 1 and shown["last_at"]
        wait_until(lambda: len(ahead(shared_api, task["id"])) >= 5)
        assert_every_instant_once(shared_api, task["id"], 1000)
        assert steer(shared_api, task["id"], "cancel")["state"] in ("done", "cancelled")

    def test_a_schedule_ends_with_max_runs_and_the_task_is_done(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/two"), every="1s", max_runs=2)
        assert task["runs"]["planned"] == 2
        wait_until(lambda: shared_api.task(task["id"])["state"] == "done")
        assert len(target.calls(path="/ok/two")) == 2
        assert shared_api.task(task["id"])["runs"] == {"success": 2, "failed": 0, "planned": 0}

    def test_a_schedule_ends_with_ends_at(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/end"), every="1h", ends_at="2036-01-01T00:00:00Z", starts_at="2035-12-31T22:30:00Z",
                         anchor="2035-12-31T20:00:00Z")
        assert [job["nominal_at"] for job in ahead(shared_api, task["id"])] == \
            ["2035-12-31T23:00:00.000Z", "2036-01-01T00:00:00.000Z"]

    def test_jitter_moves_the_time_and_not_the_instant(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 0 * * *", jitter="1h")
        for job in ahead(shared_api, task["id"]):
            assert job["nominal_at"].endswith("T00:00:00.000Z")
            assert 0 <= to_ms(job["scheduled_at"]) - to_ms(job["nominal_at"]) <= 3_600_000

    def test_a_key_finds_the_task_again(self, shared_api, target):
        fields = {"every": "1h", "key": "recurring-key"}
        task = recurring(shared_api, target.url("/ok"), **fields)
        again = shared_api.post("/v1/tasks", {"url": target.url("/ok"), **fields})
        assert (again.status, again.json["id"]) == (200, task["id"])
        assert_problem(shared_api.post("/v1/tasks", {"url": target.url("/ok"), **fields, "every": "2h"}), 409, "key_reused")

    def test_what_is_planned_survives_a_kill(self, rota, target):
        task = recurring(rota.api, target.url("/ok/kill"), every="1s")
        for count in (2, 5, 8):
            target.wait_calls(count, path="/ok/kill")
            rota.kill()
            rota.start()
        target.wait_calls(12, path="/ok/kill")
        wait_until(lambda: len(ahead(rota.api, task["id"])) >= 5)
        assert_every_instant_once(rota.api, task["id"], 1000)


class TestByHand:
    def test_run_makes_one_more_job_beside_what_is_planned(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/hand"), every="1h")
        before = [job["id"] for job in ahead(shared_api, task["id"])]
        steer(shared_api, task["id"], "run")
        (call,) = target.wait_calls(1, path="/ok/hand")
        assert call.header("Rota-Trigger") == "run" and call.header("Rota-Nominal-At") is None
        wait_until(lambda: shared_api.task(task["id"])["runs"]["success"] == 1)
        assert [job["id"] for job in ahead(shared_api, task["id"])] == before

    def test_a_retry_keeps_the_instant(self, shared_api, target):
        task = recurring(shared_api, target.url("/status/500/once"), every="1s", max_runs=1, retry={"max": 0})
        wait_until(lambda: shared_api.task(task["id"])["runs"]["failed"] == 1)
        (failed,) = [job for job in shared_api.jobs(task["id"]) if job["state"] == "aborted"]
        again = shared_api.post(f"/v1/jobs/{failed['id']}/retry")
        assert again.status == 201
        assert (again.json["nominal_at"], again.json["trigger"]) == (failed["nominal_at"], "retry")

    def test_cancel_ends_the_schedule(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/cancelled"), every="1h")
        assert steer(shared_api, task["id"], "cancel")["state"] == "cancelled"
        assert ahead(shared_api, task["id"]) == []
        assert_problem(shared_api.post(f"/v1/tasks/{task['id']}/run"), 409, "illegal_transition")

    def test_delete_leaves_nothing(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/gone"), every="1s")
        target.wait_calls(1, path="/ok/gone")
        assert shared_api.request("DELETE", f"/v1/tasks/{task['id']}").status == 204
        seen = len(target.calls(path="/ok/gone"))
        assert shared_api.get(f"/v1/tasks/{task['id']}").status == 404
        pass_time(2.5)
        assert len(target.calls(path="/ok/gone")) == seen


class TestPause:
    def test_instants_during_a_pause_are_skipped_and_named(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/paused"), every="1s")
        target.wait_calls(1, path="/ok/paused")
        paused = steer(shared_api, task["id"], "pause", {"note": "the target is being moved"})
        assert paused["state"] == "paused" and paused["paused"]["note"] == "the target is being moved"
        wait_until(lambda: not [job for job in shared_api.jobs(task["id"]) if job["state"] == "reserved"])
        seen = len(target.calls(path="/ok/paused"))
        pass_time(3.5)
        assert len(target.calls(path="/ok/paused")) == seen
        resumed = steer(shared_api, task["id"], "resume")
        assert resumed["state"] == "active" and resumed["paused"] is None
        assert {skip["reason"] for skip in resumed["skips"]} == {"paused"}
        assert sum(skip["count"] for skip in resumed["skips"]) >= 3
        target.wait_calls(seen + 2, path="/ok/paused")
        assert_every_instant_once(shared_api, task["id"], 1000)
        steer(shared_api, task["id"], "cancel")

    @pytest.mark.parametrize("missed, least, most", [("one", 1, 1), ("all", 3, 10)])
    def test_resume_may_say_what_becomes_of_them(self, shared_api, target, missed, least, most):
        path = f"/ok/missed-{missed}"
        task = recurring(shared_api, target.url(path), every="1s")
        steer(shared_api, task["id"], "pause")
        pass_time(3.5)
        at = now_ms()
        steer(shared_api, task["id"], "resume", {"missed": missed})
        target.wait_calls(least + 1, path=path)
        late = [instant for instant in nominals(target.calls(path=path)) if instant <= at]
        assert least <= len(late) <= most
        steer(shared_api, task["id"], "cancel")

    def test_a_schedule_that_fails_pauses_itself(self, shared_api, target):
        task = recurring(shared_api, target.url("/status/500/pauses"), every="1s", retry={"max": 0}, pause_after_failures=2)
        wait_until(lambda: shared_api.task(task["id"])["state"] == "paused")
        shown = shared_api.task(task["id"])
        assert shown["paused"]["by"] == "failures" and shown["failures_in_row"] >= 2

    def test_a_schedule_that_fails_says_so_once_halfway_to_its_pause(self, shared, target):
        with Events(shared.where()) as events:
            events.wait("ready")
            task = recurring(shared.api, target.url("/status/500/warns"), every="1s", retry={"max": 0}, pause_after_failures=4)
            (paused,) = events.wait("task_paused", task_id=task["id"])
            (told,) = events.of("schedule_failing", task_id=task["id"])
        assert told.data["failures_in_row"] >= 2 and told.data["pause_after_failures"] == 4
        assert paused.data["reason"] == "failures"

    def test_what_is_run_by_hand_does_not_count_for_the_failures_of_a_schedule(self, shared_api, target):
        task = recurring(shared_api, target.url("/status/500/by-hand"), cron="0 0 1 1 *", retry={"max": 0}, pause_after_failures=1)
        steer(shared_api, task["id"], "run")
        wait_until(lambda: shared_api.task(task["id"])["runs"]["failed"] == 1)
        shown = shared_api.task(task["id"])
        assert shown["failures_in_row"] == 0 and shown["state"] == "active"
        steer(shared_api, task["id"], "cancel")


class TestOverlap:
    def test_skip_leaves_out_what_would_overlap(self, shared_api, target):
        task = recurring(shared_api, target.url("/gate/skip"), every="1s", overlap="skip")
        target.wait_calls(1, path="/gate/skip")
        wait_until(lambda: [skip for skip in shared_api.task(task["id"])["skips"] if skip["reason"] == "overlap" and skip["count"] >= 2])
        assert len(target.calls(path="/gate/skip")) == 1
        target.open("skip")
        target.wait_calls(2, path="/gate/skip")
        assert_every_instant_once(shared_api, task["id"], 1000)
        steer(shared_api, task["id"], "cancel")

    def test_queue_lets_one_begin_when_the_one_before_has_ended(self, shared_api, target):
        task = recurring(shared_api, target.url("/gate/queue"), every="1s", overlap="queue", max_runs=3)
        target.wait_calls(1, path="/gate/queue")
        wait_until(lambda: len([job for job in shared_api.jobs(task["id"]) if job["state"] == "blocked"]) == 2)
        assert len(target.calls(path="/gate/queue")) == 1
        target.open("queue")
        target.wait_calls(3, path="/gate/queue")
        calls = target.calls(path="/gate/queue")
        assert nominals(calls) == sorted(nominals(calls))
        wait_until(lambda: shared_api.task(task["id"])["state"] == "done")
        assert shared_api.task(task["id"])["skips"] == []

    def test_cancel_ends_the_older_one(self, shared_api, target):
        task = recurring(shared_api, target.url("/gate/older"), every="1s", overlap="cancel", max_runs=2)
        target.wait_calls(2, path="/gate/older")
        target.open("older")
        wait_until(lambda: shared_api.task(task["id"])["state"] == "done")
        jobs = sorted(shared_api.jobs(task["id"]), key=lambda job: job["nominal_at"])
        assert [job["state"] for job in jobs] == ["cancelled", "success"]

    def test_max_active_lets_so_many_run(self, shared_api, target):
        task = recurring(shared_api, target.url("/gate/two"), every="1s", overlap="skip", max_active=2)
        target.wait_calls(2, path="/gate/two")
        wait_until(lambda: shared_api.task(task["id"])["skips"])
        assert len(target.calls(path="/gate/two")) == 2
        target.open("two")
        steer(shared_api, task["id"], "cancel")


class TestMisfire:
    FROZEN_S = 8

    @pytest.mark.slow
    @pytest.mark.parametrize("misfire, least, most", [("skip", 0, 0), ("one", 1, 1), ("all", 5, 10)])
    def test_what_was_missed_while_the_process_was_frozen(self, rota, target, misfire, least, most):
        task = recurring(rota.api, target.url("/ok/frozen"), every="1s", misfire=misfire)
        target.wait_calls(1, path="/ok/frozen")
        rota.frozen_for(self.FROZEN_S)
        thawed = now_ms()
        wait_until(lambda: [instant for instant in nominals(target.calls(path="/ok/frozen")) if instant > thawed])
        late = [call for call in target.calls(path="/ok/frozen") if call.arrived - to_ms(call.header("Rota-Nominal-At")) > 1000]
        wait_until(lambda: len(ahead(rota.api, task["id"])) >= 5)
        assert least <= len(late) <= most, [call.header("Rota-Nominal-At") for call in late]
        assert_every_instant_once(rota.api, task["id"], 1000)

    def test_a_paused_queue_is_as_late_as_anything(self, shared_api, target):
        shared_api.post("/v1/queues/held/pause")
        task = recurring(shared_api, target.url("/ok/held"), every="1s", queue="held")
        pass_time(8)
        shared_api.post("/v1/queues/held/resume")
        target.wait_calls(2, path="/ok/held")
        wait_until(lambda: shared_api.task(task["id"])["skips"])
        assert {skip["reason"] for skip in shared_api.task(task["id"])["skips"]} == {"misfire"}
        assert_every_instant_once(shared_api, task["id"], 1000)
        steer(shared_api, task["id"], "cancel")


class TestChange:
    def test_another_schedule_moves_what_is_planned(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 12 * * *")
        before = [job["id"] for job in ahead(shared_api, task["id"])]
        changed = patch(shared_api, task["id"], {"cron": "30 13 * * *"})
        assert (changed.status, changed.json["version"]) == (200, 2)
        after = ahead(shared_api, task["id"])
        assert [job["id"] for job in after] == before
        assert all(job["nominal_at"].endswith("T13:30:00.000Z") for job in after)

    def test_what_both_have_stays(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 12 * * *")
        before = {job["nominal_at"]: job["id"] for job in ahead(shared_api, task["id"])}
        assert patch(shared_api, task["id"], {"cron": "0 12,18 * * *"}).status == 200
        after = {job["nominal_at"]: job["id"] for job in ahead(shared_api, task["id"])}
        both = before.keys() & after.keys()
        assert both and all(before[instant] == after[instant] for instant in both)

    def test_an_instant_that_was_cancelled_by_hand_stays_cancelled(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok/left-out"), every="1h")
        left_out = ahead(shared_api, task["id"])[1]
        assert shared_api.post(f"/v1/jobs/{left_out['id']}/cancel").status == 200
        planned = lambda: [job["nominal_at"] for job in ahead(shared_api, task["id"])]
        before = planned()
        assert patch(shared_api, task["id"], {"priority": 9}).status == 200
        assert planned() == before
        for every in ("2h", "1h"):  # what a change has cancelled comes back with the schedule
            assert patch(shared_api, task["id"], {"every": every, "anchor": task["created_at"]}).status == 200
        assert left_out["nominal_at"] not in planned() and set(before) <= set(planned())
        steer(shared_api, task["id"], "pause")
        steer(shared_api, task["id"], "resume")
        assert left_out["nominal_at"] not in planned()
        steer(shared_api, task["id"], "cancel")

    def test_a_change_that_changes_nothing_is_none(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 12 * * *")
        same = patch(shared_api, task["id"], {"cron": "0 12 * * *"})
        assert same.json == task

    def test_a_run_that_was_cancelled_by_hand_does_not_come_back(self, shared_api, target):
        task = recurring(shared_api, target.url("/ok"), cron="0 12 * * *")
        second = sorted(ahead(shared_api, task["id"]), key=lambda job: job["nominal_at"])[1]
        assert shared_api.post(f"/v1/jobs/{second['id']}/cancel").status == 200
        assert patch(shared_api, task["id"], {"cron": "0 12,18 * * *"}).status == 200
        assert second["nominal_at"] not in {job["nominal_at"] for job in ahead(shared_api, task["id"])}

    def test_a_one_time_task_does_not_begin_to_recur(self, shared_api, target):
        task = shared_api.submit(target.url("/ok"), **{"in": "1h"})
        assert patch(shared_api, task["id"], {"cron": "0 12 * * *"}).status == 422


class TestList:
    def test_recurring_tasks_are_found_among_others(self, shared_api, target):
        labels = {"list": "recurring"}
        once = recurring(shared_api, target.url("/ok"), labels=labels, **{"in": "1h"})["id"]
        tasks = [recurring(shared_api, target.url("/ok"), every="1h", labels=labels)["id"] for _ in range(3)]

        def found(**query):
            words = "&".join(f"{name}={value}" for name, value in query.items())
            return [task["id"] for task in shared_api.read(f"/v1/tasks?label.list=recurring&{words}")["items"]]

        assert found(recurring="true") == tasks[::-1] and found(recurring="false") == [once]
        assert found(recurring="true", limit=1) == tasks[2:]
        assert {task["id"] for task in shared_api.read("/v1/tasks?recurring=true&limit=1000")["items"]} >= set(tasks)
        assert all("next_at" in task for task in shared_api.read("/v1/tasks?recurring=true&limit=1000")["items"])

    def test_recurring_is_true_or_false_and_asked_of_tasks(self, shared_api):
        assert_problem(shared_api.get("/v1/tasks?recurring=1"), 422, "invalid_field")
        assert_problem(shared_api.get("/v1/jobs?recurring=true"), 422, "unknown_field")
        assert_problem(shared_api.post("/v1/bulk", {"action": "retry", "filter": {"recurring": True}}), 422, "invalid_field")

    def test_a_bulk_pauses_all_schedules_of_a_queue(self, shared_api, target):
        once = recurring(shared_api, target.url("/ok"), queue="bulk-recurring", **{"in": "1h"})["id"]
        task = recurring(shared_api, target.url("/ok"), queue="bulk-recurring", every="1h")["id"]
        bulk = shared_api.post("/v1/bulk", {"action": "pause", "filter": {"queue": "bulk-recurring", "recurring": True}}).json
        wait_until(lambda: shared_api.read(f"/v1/bulk/{bulk['id']}")["state"] == "done")
        assert (shared_api.task(task)["state"], shared_api.task(once)["state"]) == ("paused", "active")

    def test_the_command_line_shows_them_in_words(self, shared, target):
        shared.cli("submit", target.url("/ok"), "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--jitter", "5m",
                   "--name", "nightly", "--queue", "words")
        shared.cli("submit", target.url("/ok"), "--in", "1h", "--queue", "words")
        lines = shared.cli("list", "--schedules", "--queue", "words").stdout.splitlines()
        assert lines[0].split() == ["task", "state", "name", "schedule", "next", "last", "outcome"]
        assert len(lines) == 2 and "nightly" in lines[1] and "at 02:30 every day in Europe/Berlin, put off by up to 5m" in lines[1]
        assert shared.cli("list", "--schedules", "--jobs").returncode == 2
