"""Tasks that are declared under a name: PUT makes them what the document says, whoever does it how often."""

import concurrent.futures
import json
import urllib.parse

from support.client import Api
from support.problem import assert_problem
from support.wait import wait_until


def path(name):
    return "/v1/tasks/by-name/" + urllib.parse.quote(name, safe="")


def put(api, name, document, query="", **headers):
    return api.request("PUT", path(name) + query, json.dumps(document), headers={"Content-Type": "application/json", **headers})


def declared(url, **fields):
    return {"url": url, "cron": "0 3 * * *", **fields}


def planned(api, task_id):
    return sorted(job["nominal_at"] for job in api.jobs(task_id) if job["state"] == "delayed")


class TestPut:
    def test_what_is_not_there_is_created_under_its_name(self, api, target):
        made = put(api, "night/ly", declared(target.url("/ok")))
        assert made.status == 201 and made.headers["Location"] == f"/v1/tasks/{made.json['id']}" and made.headers["ETag"] == '"1"'
        assert made.json["name"] == "night/ly" and made.json["runs"]["planned"] == 5
        shown = api.get(path("night/ly"))
        assert shown.status == 200 and shown.json["id"] == made.json["id"] and shown.headers["ETag"] == '"1"'

    def test_what_is_equal_changes_nothing(self, api, target):
        made = put(api, "a", declared(target.url("/ok"))).json
        again = put(api, "a", {"name": "a", "priority": 5, **declared(target.url("/ok"))})
        assert again.status == 200 and again.json["id"] == made["id"]
        assert again.json["version"] == 1 and again.json["updated_at"] == made["updated_at"]

    def test_what_differs_replaces_all_fields_and_planned_jobs_follow(self, api, target):
        made = put(api, "a", declared(target.url("/ok"), labels={"team": "shop"}, priority=2)).json
        before = planned(api, made["id"])
        changed = put(api, "a", declared(target.url("/other"), cron="0 4 * * *"))
        assert changed.status == 200 and changed.json["id"] == made["id"] and changed.json["version"] == 2
        assert "labels" not in changed.json and changed.json["priority"] == 5 and changed.json["url"].endswith("/other")
        after = planned(api, made["id"])
        assert len(after) == 5 and not set(before) & set(after) and all("T04:00" in at for at in after)

    def test_a_paused_task_stays_paused(self, api, target):
        made = put(api, "a", declared(target.url("/ok"))).json
        api.post(f"/v1/tasks/{made['id']}/pause", {"note": "holidays"})
        changed = put(api, "a", declared(target.url("/other"))).json
        assert changed["state"] == "paused" and changed["paused"]["note"] == "holidays" and changed["url"].endswith("/other")

    def test_tasks_that_were_submitted_with_the_name_are_others(self, api, target):
        posted = api.post("/v1/tasks", declared(target.url("/ok"), name="a")).json
        assert_problem(api.get(path("a")), 404, "not_found")
        made = put(api, "a", declared(target.url("/ok")))
        assert made.status == 201 and made.json["id"] != posted["id"]

    def test_a_name_may_be_that_of_another_path(self, api, target):
        for name in ("jobs", "run", "ü %/?"):
            assert put(api, name, declared(target.url("/ok"))).status == 201
            assert api.get(path(name)).json["name"] == name


class TestRefusals:
    def test_what_cannot_be_declared(self, api, target):
        url = target.url("/ok")
        assert_problem(put(api, "a", declared(url, key="k")), 422, "invalid_field", "/key")
        assert_problem(put(api, "a", declared(url, name="b")), 422, "invalid_field", "/name")
        assert_problem(put(api, "a", {"url": url}), 422, "invalid_field", "/cron")
        assert_problem(put(api, "a", declared(url, cron="0 0 30 2 *")), 422, "cron_never", "/cron")
        assert_problem(put(api, "a", declared(url, timezone="Mars/Olympus")), 422, "invalid_field", "/timezone")
        assert_problem(put(api, "a", [declared(url)]), 422, "invalid_field")
        assert_problem(put(api, "a", declared(url), **{"Idempotency-Key": "k"}), 422, "invalid_field", "Idempotency-Key")
        assert_problem(api.get(path("a")), 404, "not_found")

    def test_if_match_is_heeded(self, api, target):
        made = put(api, "a", declared(target.url("/ok")))
        assert put(api, "a", declared(target.url("/two")), **{"If-Match": '"1"'}).json["version"] == 2
        assert_problem(put(api, "a", declared(target.url("/three")), **{"If-Match": '"1"'}), 412, "version_mismatch")
        assert_problem(put(api, "b", declared(target.url("/ok")), **{"If-Match": '"1"'}), 412, "version_mismatch")
        assert_problem(put(api, "b", declared(target.url("/ok")), **{"If-Match": "*"}), 412, "version_mismatch")
        assert_problem(put(api, "b", declared(target.url("/ok")), "?dry_run=1", **{"If-Match": "*"}), 412, "version_mismatch")
        assert put(api, "a", declared(target.url("/four")), **{"If-Match": "*"}).json["version"] == 3
        assert api.get(path("b")).status == 404 and made.json["version"] == 1

    def test_if_none_match_only_makes_a_new_task(self, api, target):
        new = {"If-None-Match": "*"}
        made = put(api, "new", declared(target.url("/ok")), **new)
        assert made.status == 201
        assert_problem(put(api, "new", declared(target.url("/two")), **new), 412, "version_mismatch")
        assert_problem(put(api, "new", declared(target.url("/two")), "?dry_run=1", **new), 412, "version_mismatch")
        assert_problem(put(api, "new", declared(target.url("/two")), **{"If-None-Match": '"1"'}), 422, "invalid_field", "If-None-Match")
        assert api.get(path("new")).json == made.json
        assert api.request("DELETE", f"/v1/tasks/{made.json['id']}").status == 204
        assert put(api, "new", declared(target.url("/two")), **new).status == 201

    def test_a_name_must_be_text(self, api, target):
        answer = api.request("PUT", "/v1/tasks/by-name/a%ffb", json.dumps(declared(target.url("/ok"))), headers={"Content-Type": "application/json"})
        assert_problem(answer, 422, "invalid_field", "/name", "UTF-8")

    def test_a_patch_cannot_change_the_name(self, api, target):
        made = put(api, "a", declared(target.url("/ok"))).json
        change = api.request("PATCH", f"/v1/tasks/{made['id']}", '{"name": "b"}', headers={"Content-Type": "application/json"})
        assert_problem(change, 422, "invalid_field", "/name")


class TestDryRun:
    def test_it_says_what_would_become_and_writes_nothing(self, api, target):
        would = put(api, "a", declared(target.url("/ok")), "?dry_run=1")
        assert would.status == 200 and would.json["changes"] == "created" and would.json["id"] is None
        assert_problem(api.get(path("a")), 404, "not_found")
        put(api, "a", declared(target.url("/ok")))
        assert put(api, "a", declared(target.url("/ok")), "?dry_run=1").json["changes"] == "none"
        would = put(api, "a", declared(target.url("/other")), "?dry_run=1").json
        assert would["changes"] == "changed" and would["version"] == 2 and would["url"].endswith("/other")
        assert_problem(put(api, "a", declared(target.url("/ok"), timezone="Mars/Olympus"), "?dry_run=1"), 422, "invalid_field")
        task = api.get(path("a")).json
        assert task["version"] == 1 and task["url"].endswith("/ok") and "changes" not in task


class TestEnds:
    def test_a_deleted_task_frees_its_name(self, api, target):
        made = put(api, "a", declared(target.url("/ok"))).json
        assert api.request("DELETE", f"/v1/tasks/{made['id']}").status == 204
        assert_problem(api.get(path("a")), 404, "not_found")
        again = put(api, "a", declared(target.url("/ok")))
        assert again.status == 201 and again.json["id"] != made["id"]

    def test_a_cancelled_task_gives_its_name_to_a_new_one(self, api, target):
        made = put(api, "a", declared(target.url("/ok"))).json
        api.post(f"/v1/tasks/{made['id']}/cancel")
        assert api.get(path("a")).json["id"] == made["id"]
        assert put(api, "a", declared(target.url("/ok")), "?dry_run=1").json["changes"] == "created"
        again = put(api, "a", declared(target.url("/ok")))
        assert again.status == 201 and again.json["id"] != made["id"]
        assert api.get(path("a")).json["id"] == again.json["id"]
        assert api.task(made["id"])["state"] != "active"

    def test_a_task_whose_schedule_has_ended_gives_its_name_to_a_new_one(self, api, target):
        made = put(api, "a", {"url": target.url("/ok"), "every": "1s", "max_runs": 1}).json
        wait_until(lambda: api.task(made["id"])["state"] == "done")
        again = put(api, "a", declared(target.url("/ok")))
        assert again.status == 201 and again.json["id"] != made["id"]


def together(rota, count, act):
    """What act(api, number) gives for each number, each with a connection of its own, all at once."""

    def alone(number):
        own = Api(rota.where)
        try:
            return act(own, number)
        finally:
            own.close()

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(alone, range(count)))


class TestRaces:
    def test_the_same_document_put_by_many_at_once_is_created_once_and_changes_nothing(self, rota, api, target):
        answers = together(rota, 10, lambda own, _: put(own, "a", declared(target.url("/ok"))))
        assert sorted(answer.status for answer in answers) == [200] * 9 + [201]
        assert {(answer.json["id"], answer.json["version"]) for answer in answers} == {(api.get(path("a")).json["id"], 1)}

    def test_different_documents_put_by_many_at_once_are_each_one_version(self, rota, api, target):
        answers = together(rota, 10, lambda own, number: put(own, "a", declared(target.url(f"/{number}"))))
        assert sorted(answer.status for answer in answers) == [200] * 9 + [201]
        assert len({answer.json["id"] for answer in answers}) == 1
        task = api.get(path("a")).json
        assert task["version"] == 10 and task["url"] in {target.url(f"/{number}") for number in range(10)}
        assert task["runs"]["planned"] == 5 and len(planned(api, task["id"])) == 5

    def test_puts_and_deletes_at_once_fail_nobody_and_leave_one_task_or_none(self, rota, api, target):
        def act(own, number):
            statuses = []
            for _ in range(6):
                if number % 2:
                    statuses.append(put(own, "a", declared(target.url(f"/{number}"))).status)
                    continue
                shown = own.get(path("a"))
                if shown.status == 200:
                    statuses.append(own.request("DELETE", f"/v1/tasks/{shown.json['id']}").status)
            return statuses

        statuses = {status for some in together(rota, 8, act) for status in some}
        assert statuses <= {200, 201, 204, 404, 503}, "503: the name came and went all the time"
        tasks = api.read("/v1/tasks")["items"]
        assert len(tasks) <= 1
        last = put(api, "a", declared(target.url("/last")))
        assert last.status in (200, 201) and last.json["runs"]["planned"] == 5
        assert [task["id"] for task in api.read("/v1/tasks")["items"]] == [last.json["id"]]

    def test_puts_and_cancels_at_once_leave_the_name_with_one_task(self, rota, api, target):
        def act(own, number):
            if number % 2:
                return [put(own, "a", declared(target.url(f"/{number}"))) for _ in range(6)]
            shown = [own.get(path("a")) for _ in range(6)]
            for answer in shown:
                if answer.status == 200:
                    own.post(f"/v1/tasks/{answer.json['id']}/cancel")
            return []

        answers = [answer for some in together(rota, 6, act) for answer in some]
        assert {answer.status for answer in answers} <= {200, 201, 503}
        last = put(api, "a", declared(target.url("/last"))).json
        open_tasks = [task for task in api.read("/v1/tasks")["items"] if task["state"] == "active"]
        assert [task["id"] for task in open_tasks] == [last["id"]]
