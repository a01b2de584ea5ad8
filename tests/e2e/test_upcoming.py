"""What is coming over all tasks: planned jobs and computed instants in one order, page by page."""

import json
import urllib.parse

import pytest

from support.problem import assert_problem
from support.recurring import ahead, recurring, steer
from support.times import to_ms
from support.wait import now_ms, wait_until

MINUTE = 60_000
HOUR = 60 * MINUTE


def upcoming(api, **query):
    return api.read("/v1/upcoming?" + urllib.parse.urlencode(query))


def items(api, **query):
    """All of it, in one page."""
    page = upcoming(api, **{"limit": 1000, **query})
    assert page["next"] is None and page["incomplete"] is False and "note" not in page
    return page["items"]


def times(items):
    return [to_ms(item["at"]) for item in items]


def of(task, items):
    return [item for item in items if item["task_id"] == task["id"]]


def follow(api, limit, **query):
    """All pages of a list, as one."""
    found, cursor = [], {}
    while True:
        page = upcoming(api, limit=limit, **query, **cursor)
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


class TestSchedules:
    def test_planned_jobs_come_first_and_computed_instants_behind_them(self, api, target):
        task = recurring(api, target.url("/ok"), every="10m", name="tenth")
        first = to_ms(task["created_at"]) + 10 * MINUTE
        found = items(api, until="2h")
        assert times(found) == list(range(first, first + 12 * 10 * MINUTE, 10 * MINUTE))[: len(found)] and len(found) in (11, 12)
        assert [item["job_id"] for item in found[:5]] == [job["id"] for job in ahead(api, task["id"])]
        assert [item["computed"] for item in found] == [False] * 5 + [True] * (len(found) - 5)
        assert all(item["job_id"] is None for item in found[5:])
        assert {(item["task_id"], item["name"], item["paused"]) for item in found} == {(task["id"], "tenth", False)}

    def test_what_was_computed_is_what_gets_planned(self, api, target):
        task = recurring(api, target.url("/ok/tick"), every="1s", jitter="700ms")
        computed = [item["at"] for item in items(api, until="15s") if item["computed"]]
        assert computed
        wait_until(lambda: computed[-1] in [job["scheduled_at"] for job in api.jobs(task["id"])])
        planned = {job["scheduled_at"] for job in api.jobs(task["id"]) if job["trigger"] == "schedule"}
        assert set(computed) <= planned

    def test_no_instant_is_missing_or_twice_while_jobs_are_planned(self, api, target):
        tasks = [recurring(api, target.url("/ok/tick"), every="1s") for _ in range(80)]
        while len(target.calls(path="/ok/tick")) < 5 * len(tasks):
            found = items(api, until="12s")
            for task in tasks:
                own = times(of(task, found))
                assert own == list(range(own[0], own[0] + 1000 * len(own), 1000))

    def test_tasks_are_merged_by_time(self, api, target):
        tasks = [recurring(api, target.url("/ok"), every=every) for every in ("7m", "11m", "1h")]
        found = items(api, until="5h")
        assert times(found) == sorted(times(found))
        for task, every in zip(tasks, (7, 11, 60)):
            own = times(of(task, found))
            assert own == list(range(own[0], own[0] + every * MINUTE * len(own), every * MINUTE))
            assert own[0] == to_ms(task["created_at"]) + every * MINUTE and own[-1] > now_ms() + 5 * HOUR - (every + 1) * MINUTE

    def test_it_ends_with_max_runs_ends_at_and_excluded_days(self, api, target):
        counted = recurring(api, target.url("/ok"), every="1h", max_runs=8)
        seventh = items(api)[6]["at"]
        ended = recurring(api, target.url("/ok"), every="1h", anchor=counted["created_at"], ends_at=seventh)
        never = recurring(api, target.url("/ok"), cron="0 12 * * *", exclude=["2026-01-01/2035-12-31"], ends_at="2036-01-02T00:00:00Z")
        found = items(api, until="48h")
        assert len(of(counted, found)) == 8
        assert [item["at"] for item in of(ended, found)] == [item["at"] for item in of(counted, found)][:7]
        assert of(never, found) == []

    def test_of_a_paused_task_only_its_jobs_are_shown_and_say_so(self, api, target):
        task = recurring(api, target.url("/ok"), every="10m")
        other = recurring(api, target.url("/ok"), every="10m")
        steer(api, task["id"], "pause")
        found = items(api, until="3h")
        assert [item["paused"] for item in of(task, found)] == [True] * 5
        assert not any(item["computed"] for item in of(task, found))
        assert len(of(other, found)) > 10 and not any(item["paused"] for item in of(other, found))
        steer(api, task["id"], "resume")
        found = items(api, until="3h")
        assert len(of(task, found)) > 10 and not any(item["paused"] for item in found)

    def test_in_a_paused_queue_all_of_it_is_marked(self, api, target):
        task = recurring(api, target.url("/ok"), every="10m", queue="held")
        assert api.post("/v1/queues/held/pause").status == 200
        found = items(api, until="3h")
        assert len(of(task, found)) > 10 and all(item["paused"] for item in found)

    def test_a_schedule_that_was_cancelled_has_nothing_to_come(self, api, target):
        task = recurring(api, target.url("/ok"), every="10m")
        steer(api, task["id"], "cancel")
        assert items(api, until="24h") == []


class TestOneTime:
    def test_a_task_that_waits_for_its_time_is_coming_with_its_job(self, api, target):
        late = api.submit(target.url("/ok"), **{"in": "3h", "name": "late"})["id"]
        soon = api.submit(target.url("/ok"), **{"in": "2h"})["id"]
        found = items(api)
        assert [(item["task_id"], item["job_id"], item["name"]) for item in found] == \
            [(soon, "j" + soon[1:], None), (late, "j" + late[1:], "late")]
        assert found[1]["at"] == api.task(late)["scheduled_at"] and not found[1]["computed"]
        steer(api, late, "pause")
        assert [item["paused"] for item in items(api)] == [False, True]

    def test_what_is_over_or_behind_the_window_is_not(self, api, target):
        cancelled = api.submit(target.url("/ok"), **{"in": "2h"})["id"]
        steer(api, cancelled, "cancel")
        done = api.submit(target.url("/ok"))["id"]
        wait_until(lambda: api.task(done)["state"] == "done")
        far = api.submit(target.url("/ok"), **{"in": "2d"})["id"]
        assert items(api) == []
        assert [item["task_id"] for item in items(api, until="3d")] == [far]


class TestPages:
    @pytest.mark.parametrize("limit", [1, 7, 100])
    def test_they_neither_repeat_nor_leave_out_an_item(self, api, target, limit):
        api.submit_many([{"url": target.url("/ok"), "in": "90m"}] * 12)
        for n in range(3):
            recurring(api, target.url("/ok"), cron="*/20 * * * *", name=f"cron {n}")
            recurring(api, target.url("/ok"), every=f"{7 + n}m", jitter="7m")
        until = upcoming(api, until="3h")["until"]
        whole = items(api, until=until)
        assert follow(api, limit, until=until) == whole
        assert len(whole) > 60 and times(whole) == sorted(times(whole))

    def test_the_window_stays_the_same(self, api, target):
        recurring(api, target.url("/ok"), every="10m")
        first = upcoming(api, limit=2)
        second = upcoming(api, limit=2, cursor=first["next"])
        assert second["until"] == first["until"]
        assert abs(to_ms(first["until"]) - now_ms() - 24 * HOUR) < 5 * MINUTE

    def test_many_schedules_say_that_not_all_are_computed(self, api, target):
        oldest = recurring(api, target.url("/ok"), every="10m")
        for _ in range(20):
            api.submit_many([{"url": target.url("/ok"), "every": "30d"}] * 500)
        page = upcoming(api, limit=20)
        assert page["incomplete"] is True and "newest" in page["note"]
        assert [(item["task_id"], item["computed"]) for item in page["items"]] == [(oldest["id"], False)] * 5
        assert page["next"] is None


class TestRefusals:
    @pytest.mark.parametrize("query, field", [
        ("until=soon", "until"), ("until=", "until"), ("until=0s", "until"), ("until=367d", "until"), ("until=-1h", "until"),
        ("until=2020-01-01T00:00:00Z", "until"), ("until=2026-01-01", "until"), ("until=9999-12-31T00:00:00Z", "until"),
        ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("cursor=x", "cursor"), ("cursor=" + "0" * 80, "cursor")])
    def test_what_cannot_be_meant_is_refused(self, shared_api, query, field):
        assert_problem(shared_api.get(f"/v1/upcoming?{query}"), 422, "invalid_field", field)

    def test_a_cursor_goes_with_its_window(self, shared_api, target):
        recurring(shared_api, target.url("/ok"), every="10m")
        cursor = upcoming(shared_api, until="2h", limit=1)["next"]
        assert shared_api.get(f"/v1/upcoming?until=2h&cursor={cursor}").status == 200
        assert_problem(shared_api.get(f"/v1/upcoming?until=3h&cursor={cursor}"), 422, "invalid_field", "cursor")
        assert_problem(shared_api.get("/v1/upcoming?from=2h"), 422, "unknown_field", "from")


class TestCommandLine:
    def test_it_shows_what_the_server_says(self, rota, target):
        recurring(rota.api, target.url("/ok"), every="10m", name="tenth")
        done = rota.cli("upcoming", "--until", "2h", "--limit", "7", "-o", "jsonl")
        assert [json.loads(line) for line in done.stdout.splitlines()] == upcoming(rota.api, until="2h", limit=7)["items"]
        shown = rota.cli("upcoming", "--until", "2h", "--all").stdout.splitlines()
        assert len(shown) in (12, 13) and shown[0].split() == ["planned", "task", "job", "name"]
        assert "(none yet)" in shown[6] and shown[6].endswith("tenth") and "(none yet)" not in shown[5]
        assert rota.cli("upcoming", "--until", "never").returncode == 2
        assert rota.cli("upcoming", "--until", "400d").returncode == 3
