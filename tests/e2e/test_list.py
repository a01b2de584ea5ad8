"""Lists: newest first, exact filters, cursors that lead through everything exactly once while work goes on."""

from urllib.parse import quote, urlencode

import pytest

from support.client import first_job_id
from support.times import to_ms
from support.wait import now_ms, wait_until


def pages(api, path, **query):
    """Every page of a list, by its cursors."""
    cursor = None
    while True:
        asked = {**query, **({"cursor": cursor} if cursor else {})}
        page = api.read(f"{path}?{urlencode(asked)}" if asked else path)
        assert list(page) == ["items", "next"]
        yield page["items"]
        cursor = page["next"]
        if cursor is None:
            return


def everything(api, path, **query):
    return [item for page in pages(api, path, **query) for item in page]


def ids(items):
    return [item["id"] for item in items]


@pytest.fixture
def planned(api, target):
    """Twenty tasks planned for later, the last submitted first to run, and three that have ended."""
    made = [api.submit(target.url("/ok"), **{"in": f"{60 - i}m"}, queue="mail" if i % 2 else "default", name=f"n{i % 3}",
                       labels={"team": "a" if i % 4 else "b", "i": str(i)}, tracing_id=f"trace-{i}", created_by=f"by-{i % 5}")["id"]
            for i in range(20)]
    ended = [api.submit(target.url(path), name="ended", retry={"max": 0})["id"] for path in ("/ok", "/status/500/x", "/ok")]
    for task_id in ended:
        api.finished(task_id)
    return made + ended


class TestTasks:
    def test_newest_first_and_each_once_whatever_the_limit(self, api, planned):
        newest = list(reversed(planned))
        for limit in (1, 7, 23, 1000):
            assert ids(everything(api, "/v1/tasks", limit=limit)) == newest
        assert ids(api.read("/v1/tasks")["items"]) == newest

    def test_an_item_is_the_task_as_it_shows_alone(self, api, planned):
        for item in everything(api, "/v1/tasks", limit=10):
            assert item == api.task(item["id"])

    @pytest.mark.parametrize("query, wanted", [
        ({"state": "active"}, lambda i: i < 20),
        ({"state": "done"}, lambda i: i >= 20),
        ({"state": "cancelled"}, lambda i: False),
        ({"state": "paused"}, lambda i: False),
        ({"queue": "mail"}, lambda i: i < 20 and i % 2 == 1),
        ({"queue": "nobody"}, lambda i: False),
        ({"name": "n1"}, lambda i: i < 20 and i % 3 == 1),
        ({"name": "ended"}, lambda i: i >= 20),
        ({"label.team": "b"}, lambda i: i < 20 and i % 4 == 0),
        ({"label.team": "a", "label.i": "3"}, lambda i: i == 3),
        ({"label.team": "a", "queue": "mail", "name": "n0"}, lambda i: i < 20 and i % 2 == 1 and i % 3 == 0 and i % 4 != 0),
        ({"state": "waiting"}, lambda i: i < 20),
        ({"state": "running"}, lambda i: False),
        ({"state": "success"}, lambda i: i in (20, 22)),
        ({"state": "failed"}, lambda i: i == 21),
        ({"tracing_id": "trace-7"}, lambda i: i == 7),
        ({"created_by": "by-2", "queue": "mail"}, lambda i: i < 20 and i % 5 == 2 and i % 2 == 1),
        ({"sla_met": "true"}, lambda i: i >= 20),
        ({"sla_met": "true", "state": "failed"}, lambda i: i == 21),
        ({"sla_met": "false"}, lambda i: False),
        ({"late_stage": "queue"}, lambda i: False),
    ])
    def test_filters_are_exact_and_all_must_match(self, api, planned, query, wanted):
        expected = [planned[i] for i in reversed(range(len(planned))) if wanted(i)]
        assert ids(everything(api, "/v1/tasks", **query)) == expected
        assert ids(everything(api, "/v1/tasks", limit=2, **query)) == expected

    def test_due_before(self, api, planned):
        middle = api.task(planned[10])["scheduled_at"]
        later = [task_id for task_id in reversed(planned) if api.task(task_id)["scheduled_at"] < middle]
        assert ids(everything(api, "/v1/tasks", due_before=middle)) == later
        assert 0 < len(later) < len(planned)

    def test_what_comes_meanwhile_does_not_disturb_the_pages(self, api, target, planned):
        seen = []
        for page in pages(api, "/v1/tasks", limit=5):
            seen += ids(page)
            api.submit(target.url("/ok"), **{"in": "1h"})
        assert seen == list(reversed(planned))


class TestJobs:
    def test_newest_scheduled_first(self, api, planned):
        jobs = everything(api, "/v1/jobs", limit=6)
        assert sorted(ids(jobs)) == sorted(first_job_id(task_id) for task_id in planned)
        keys = [(job["scheduled_at"], job["id"]) for job in jobs]
        assert keys == sorted(keys, reverse=True)
        for job in jobs:
            alone = api.job(job["id"])
            for attempt in alone["attempts"]:  # which in a list leave these out
                del attempt["response"], attempt["response_truncated"]
            assert job == alone

    @pytest.mark.parametrize("query, wanted", [
        ({"state": "delayed"}, lambda i: i < 20),
        ({"state": "success"}, lambda i: i in (20, 22)),
        ({"state": "aborted"}, lambda i: i == 21),
        ({"state": "ready"}, lambda i: False),
        ({"state": "aborted", "name": "n1"}, lambda i: False),
        ({"queue": "mail", "label.team": "a"}, lambda i: i < 20 and i % 2 == 1 and i % 4 != 0),
        ({"name": "n2", "state": "delayed"}, lambda i: i < 20 and i % 3 == 2),
        ({"state": "waiting"}, lambda i: i < 20),
        ({"state": "running"}, lambda i: False),
        ({"state": "failed"}, lambda i: i == 21),
        ({"state": "failed", "queue": "mail"}, lambda i: False),
        ({"tracing_id": "trace-7"}, lambda i: i == 7),
        ({"created_by": "by-2", "state": "waiting"}, lambda i: i < 20 and i % 5 == 2),
        ({"sla_met": "true"}, lambda i: i >= 20),
        ({"sla_met": "false"}, lambda i: False),
    ])
    def test_filters(self, api, planned, query, wanted):
        expected = {first_job_id(planned[i]) for i in range(len(planned)) if wanted(i)}
        for limit in (1, 100):
            assert set(ids(everything(api, "/v1/jobs", limit=limit, **query))) == expected

    def test_the_jobs_of_a_task_have_pages_too(self, api, target):
        task = api.submit(target.url("/ok"))
        job = api.finished(task["id"])
        made = [job["id"]]
        for _ in range(4):
            made.append(api.post(f"/v1/jobs/{made[-1]}/retry").json["id"])
            api.wait_state(made[-1], "success")
        assert ids(everything(api, f"/v1/tasks/{task['id']}/jobs", limit=2)) == list(reversed(made))

    def test_what_began_late_is_found_and_says_by_how_much(self, api, target):
        api.post("/v1/queues/late/pause")
        task = api.submit(target.url("/ok"), queue="late", sla="1ms")
        job_id = first_job_id(task["id"])
        planned_at = to_ms(api.job(job_id)["scheduled_at"])
        wait_until(lambda: now_ms() > planned_at + 1, "it is late")
        api.post("/v1/queues/late/resume")
        job = api.finished(task["id"])
        assert job["sla_met"] is False
        assert job["late_by"] == to_ms(job["started_at"]) - planned_at > 1
        for query in ({"sla_met": "false"}, {"late_stage": job["late_stage"]}, {"sla_met": "false", "queue": "late"}):
            assert ids(everything(api, "/v1/jobs", **query)) == [job_id]
            assert ids(everything(api, "/v1/tasks", **query)) == [task["id"]]
        assert everything(api, "/v1/jobs", sla_met="true") == []

    def test_retries_make_a_job_late_without_missing_its_sla(self, api, target):
        task = api.submit(target.url("/status/500/late_by"), retry={"max": 1, "delay": "1s", "jitter": False})
        job = api.finished(task["id"])
        assert (job["state"], job["sla_met"]) == ("aborted", True)
        assert job["late_by"] == to_ms(job["started_at"]) - to_ms(job["scheduled_at"]) >= 1000

    def test_a_running_job_is_found_as_running(self, api, target):
        task = api.submit(target.url("/hang/running"))
        job = api.wait_state(first_job_id(task["id"]), "reserved")
        assert ids(everything(api, "/v1/jobs", state="running")) == [job["id"]]
        assert ids(everything(api, "/v1/tasks", state="running")) == [task["id"]]
        assert api.task(task["id"])["outcome"] == "in_progress"
        assert api.post(f"/v1/tasks/{task['id']}/cancel").json["outcome"] == "cancelled"
        assert everything(api, "/v1/jobs", state="running") == []

    def test_a_due_job_in_a_paused_queue_shows_as_ready(self, api, target):
        api.post("/v1/queues/held/pause")
        task = api.submit(target.url("/ok"), queue="held")
        wait_until(lambda: ids(api.read("/v1/jobs?state=ready")["items"]) == [first_job_id(task["id"])], "it is listed as ready")
        assert api.read("/v1/jobs?state=delayed")["items"] == []


class TestRefusals:
    @pytest.mark.parametrize("path, field, words", [
        ("/v1/tasks?state=ready", "state", "active, paused, done or cancelled"),
        ("/v1/jobs?state=active", "state", "buried"),
        ("/v1/jobs?state=", "state", "blocked"),
        ("/v1/tasks?queue=a%20b", "queue", "letters"),
        ("/v1/tasks?state=blocked", "state", "waiting, running, success or failed"),
        ("/v1/jobs?state=done", "state", "waiting, running or failed"),
        ("/v1/jobs?sla_met=yes", "sla_met", "true or false"),
        ("/v1/jobs?late_stage=store", "late_stage", "puller, queue or target"),
        ("/v1/jobs?tracing_id=", "tracing_id", "1 to 256"),
        ("/v1/tasks?created_by=", "created_by", "1 to 256"),
        ("/v1/tasks?name=", "name", "1 to 256"),
        ("/v1/tasks?due_before=tomorrow", "due_before", "2030"),
        ("/v1/tasks?limit=0", "limit", "1 to 1000"),
        ("/v1/tasks?limit=1001", "limit", "1 to 1000"),
        ("/v1/tasks?cursor=x", "cursor", "next"),
        ("/v1/tasks?label.=x", "label.", "label.KEY"),
        ("/v1/tasks?label.a=1&label.a=2", "label.a", "twice"),
        ("/v1/tasks?kind=mail", "kind", "allowed"),
        ("/v1/tasks?stat=done", "stat", "did you mean state?"),
        ("/v1/jobs?status=done", "status", "did you mean state?"),
        ("/v1/jobs?per_page=5", "per_page", "did you mean limit?"),
        ("/v1/jobs?tag=x", "tag", "did you mean label.*?"),
        ("/v1/events?task_id=x", "task_id", "did you mean task?"),
        ("/v1/stats?state=x", "state", "none is allowed"),
        ("/v1/jobs?state=ready&state=ready", "state", "twice"),
    ])
    def test_a_query_that_is_wrong(self, shared_api, path, field, words):
        answer = shared_api.get(path)
        assert answer.status == 422, answer
        assert answer.json["field"] == field
        assert words in answer.json["detail"]

    def test_a_cursor_of_another_list(self, api, planned):
        cursor = api.read("/v1/tasks?limit=1")["next"]
        for path in (f"/v1/jobs?cursor={cursor}", f"/v1/tasks?queue=mail&cursor={cursor}",
                     f"/v1/tasks?cursor={quote(cursor[:-1] + ('0' if cursor[-1] != '0' else '1'))}"):
            answer = api.get(path)
            assert (answer.status, answer.json["field"]) == (422, "cursor"), path

    def test_the_jobs_of_nobody(self, shared_api):
        assert shared_api.get("/v1/tasks/t0000000000001/jobs").status == 404


class TestFoundByAnIndex:
    """The oldest of many is on the first page, which is the last, by whatever it has to be found by."""

    @pytest.fixture
    def needle(self, api, target):
        needle = api.submit(target.url("/ok"), **{"in": "2h"}, name="needle", key="needle-1", tracing_id="trace-1",
                            created_by="ada", labels={"team": "rare", "all": "yes"})["id"]
        many = [{"url": target.url("/ok"), "in": "1h", "name": "hay", "created_by": "bob", "labels": {"all": "yes"}}] * 2500
        assert api.post("/v1/tasks?brief=1", many).status == 201
        return needle

    @pytest.mark.parametrize("query", [
        {"name": "needle"}, {"key": "needle-1"}, {"tracing_id": "trace-1"}, {"created_by": "ada"}, {"label.team": "rare"},
        {"label.all": "yes", "label.team": "rare", "name": "needle"}, {"label.all": "yes", "key": "needle-1"},
        {"created_by": "ada", "queue": "default", "label.all": "yes"},
    ])
    def test_one_of_many_is_found_at_once(self, api, needle, query):
        page = api.read(f"/v1/tasks?{urlencode({'limit': 2, **query})}")
        assert (ids(page["items"]), page["next"]) == ([needle], None)
        page = api.read(f"/v1/jobs?{urlencode({'limit': 2, **query})}")
        assert (ids(page["items"]), page["next"]) == ([first_job_id(needle)], None)

    def test_what_many_have_in_common_is_gone_through_page_by_page(self, api, needle):
        tasks = everything(api, "/v1/tasks", limit=400, **{"label.all": "yes"})
        assert len(tasks) == len(set(ids(tasks))) == 2501 and tasks[-1]["id"] == needle
        jobs = everything(api, "/v1/jobs", limit=400, name="hay")
        assert len(jobs) == len(set(ids(jobs))) == 2500
        keys = [(job["scheduled_at"], job["id"]) for job in jobs]
        assert keys == sorted(keys, reverse=True)

    def test_a_change_moves_what_is_found(self, api, target, needle):
        change = {"name": None, "labels": {"team": "common"}, "in": "3h"}
        assert api.request("PATCH", f"/v1/tasks/{needle}", change).status == 200
        for path in ("/v1/tasks", "/v1/jobs"):
            assert not everything(api, path, name="needle") and not everything(api, path, **{"label.team": "rare"})
            found, = everything(api, path, **{"label.team": "common", "label.all": "yes"})
            assert found["id"] in (needle, first_job_id(needle))
        assert api.post(f"/v1/tasks/{needle}/run").status == 200
        api.finished(needle)
        again = api.post(f"/v1/jobs/{first_job_id(needle)}/retry").json["id"]
        api.wait_state(again, "success")
        assert ids(everything(api, "/v1/jobs", tracing_id="trace-1")) == [again, first_job_id(needle)]

    def test_what_was_deleted_is_not_found(self, api, needle):
        assert api.request("DELETE", f"/v1/tasks/{needle}").status == 204
        for query in ({"name": "needle"}, {"key": "needle-1"}, {"label.team": "rare"}, {"tracing_id": "trace-1"}):
            assert api.read(f"/v1/tasks?{urlencode(query)}") == {"items": [], "next": None}

    def test_a_bulk_finds_by_the_same(self, api, needle):
        bulk = api.post("/v1/bulk", {"action": "cancel", "filter": {"label.all": "yes", "created_by": "ada"}}).json
        ended = wait_until(lambda: (got := api.read(f"/v1/bulk/{bulk['id']}"))["state"] == "done" and got)
        assert (ended["matched"], ended["changed"]) == (1, 1)
        assert api.task(needle)["state"] == "cancelled"

    def test_a_key_that_nobody_used(self, api):
        assert api.read("/v1/tasks?key=unknown") == {"items": [], "next": None}
