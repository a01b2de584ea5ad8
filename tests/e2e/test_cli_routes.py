"""The verbs against the server's own lists, explanations, bulks, events and copies: what the stand-in of test_cli_answers.py
promises is what a real one answers."""

import json
import os
import re
import sqlite3
import subprocess

import pytest

from support.rota import binary

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4


def submit(rota, *args):
    done = rota.cli("submit", *args)
    assert done.returncode == OK, done
    return done.stdout.strip()


def lines(done):
    assert done.returncode == OK, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def ids(done):
    return [item["id"] for item in lines(done)]


class TestList:
    def test_filters_and_the_order(self, shared, target):
        common = [target.url("/ok/list"), "--in", "1h", "--queue", "routes.list"]
        mine = [submit(shared, *common, "--label", f"n={n}") for n in range(3)]
        assert ids(shared.cli("list", "--queue", "routes.list", "-o", "jsonl")) == mine[::-1]
        assert ids(shared.cli("list", "--queue", "routes.list", "--label", "n=1", "-o", "jsonl")) == [mine[1]]
        assert ids(shared.cli("list", "--queue", "routes.list", "--due-before", "30m", "-o", "jsonl")) == []
        assert len(ids(shared.cli("list", "--jobs", "--queue", "routes.list", "--state", "delayed", "-o", "jsonl"))) == 3

    def test_pages_are_followed(self, shared, target):
        tasks = [{"url": target.url("/ok/page"), "in": "1h", "queue": "routes.page"}] * 1500
        mine = shared.api.submit_many(tasks)
        assert sorted(ids(shared.cli("list", "--queue", "routes.page", "--all", "-o", "jsonl"))) == sorted(mine)
        assert len(ids(shared.cli("list", "--queue", "routes.page", "--limit", "1200", "-o", "jsonl"))) == 1200

    def test_a_state_that_is_none_is_refused_with_those_there_are(self, shared):
        done = shared.cli("list", "--state", "runnning")
        assert done.returncode == SERVER_SAYS_NO and "active" in done.stderr


class TestHolding:
    def test_explain_and_get_name_the_paused_queue(self, shared, target):
        shared.cli("pause", "--queue", "routes.held")
        task_id = submit(shared, target.url("/ok/held"), "--queue", "routes.held")
        why = json.loads(shared.cli("explain", task_id, "-o", "json").stdout)
        assert why["waiting_for"][0]["id"] == "routes.held"
        words = f"{why['waiting_for'][0]['detail']} Let it go with: rota resume --queue routes.held\n"
        assert shared.cli("explain", task_id).stdout.startswith(words)
        assert f"waits     {words}" in shared.cli("get", task_id).stdout
        assert "POST" not in shared.cli("explain", task_id).stdout
        shared.cli("resume", "--queue", "routes.held")
        assert shared.api.finished(task_id)["state"] == "success"

    def test_who_waits_for_a_job_that_is_held_is_told_what_helps(self, shared, target):
        shared.cli("pause", "--queue", "routes.wait")
        command = [binary(), "submit", target.url("/ok/wait"), "--queue", "routes.wait", "--wait"]
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "ROTA_SERVER": shared.url})
        assert waiting.stderr.readline().startswith("submitted t")
        assert waiting.stderr.readline() == ('it waits: Its queue "routes.wait" is paused. '
                                             "Let it go with: rota resume --queue routes.wait\n")
        shared.cli("resume", "--queue", "routes.wait")
        out, err = waiting.communicate(timeout=60)
        assert (waiting.returncode, err) == (OK, "") and "success" in out

    def test_a_refusal_names_the_option_and_what_to_do(self, shared, target):
        assert "field: /retry/max (--retry)" in shared.cli("submit", target.url("/ok"), "--retry", "500").stderr
        assert "field: /headers/Host (--header)" in shared.cli("submit", target.url("/ok"), "--header", "Host: x").stderr
        assert "field: /url\n" in shared.cli("submit", "ftp://x/").stderr
        assert "field: state (--state)" in shared.cli("list", "--state", "soon").stderr
        assert "try: rota list" in shared.cli("get", "t0000000000001").stderr
        task_id = submit(shared, target.url("/ok/ended"))
        shared.api.finished(task_id)
        done = shared.cli("run", task_id)
        assert done.returncode == SERVER_SAYS_NO and "rota retry ID" in done.stderr

    def test_a_task_is_held_let_go_and_deleted(self, shared, target):
        task_id = submit(shared, target.url("/ok/task"), "--in", "1h")
        assert shared.cli("pause", task_id).stdout == f"{task_id}  paused\n"
        assert shared.cli("resume", task_id).stdout == f"{task_id}  active\n"
        assert shared.cli("delete", task_id).stdout == f"{task_id}  gone\n"
        assert shared.cli("get", task_id).returncode == SERVER_SAYS_NO


class TestBulk:
    def test_cancel_all_that_match(self, shared, target):
        mine = [submit(shared, target.url("/ok/bulk"), "--in", "1h", "--queue", "routes.bulk") for _ in range(3)]
        other = submit(shared, target.url("/ok/bulk"), "--in", "1h", "--queue", "routes.other")
        done = shared.cli("cancel", "--queue", "routes.bulk", "--yes")
        assert done.returncode == OK and "3 changed, 0 unchanged, 0 failed" in done.stdout, done
        assert [shared.api.task(task_id)["state"] for task_id in [*mine, other]] == ["cancelled"] * 3 + ["active"]
        bulk_id = done.stdout.split()[0]
        assert "cancel where queue=routes.bulk" in shared.cli("get", bulk_id).stdout

    def test_retry_what_failed(self, shared, target):
        task_id = submit(shared, target.url("/status/500"), "--retry", "0", "--queue", "routes.retry")
        shared.api.finished(task_id)
        assert shared.cli("retry", "--state", "aborted", "--queue", "routes.retry", "--yes").returncode == OK
        target.wait_calls(2)


class TestQueues:
    def test_the_columns_add_up_to_what_is_pending(self, shared, target):
        """Also while some are in hand: a queue with more than may run at once, and some that are planned."""
        shared.api.submit_many([{"url": target.url("/gate/columns/x"), "queue": "routes.columns", "timeout": "10m"}] * 400)
        submit(shared, target.url("/ok/columns"), "--queue", "routes.columns", "--in", "1h")
        head, *rows = [re.split(r"  +", line.rstrip()) for line in shared.cli("list", "--queues", "--all").stdout.splitlines()]
        (row,) = [dict(zip(head, row)) for row in rows if row[0] == "routes.columns"]
        assert int(row["pending"]) == sum(int(row[name]) for name in ("delayed", "ready", "in hand", "running")) == 401
        target.open("columns")
        shared.api.post("/v1/bulk", {"action": "cancel", "filter": {"queue": "routes.columns"}})


class TestTail:
    def test_what_happens_to_a_task(self, rota, target):
        command = [binary(), "tail", "--server", rota.url, "-o", "jsonl", "--count", "3"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert json.loads(process.stdout.readline())["type"] == "ready"
        task_id = submit(rota, target.url("/ok/tail"))
        events = [json.loads(line) for line in process.stdout]
        assert process.wait(timeout=60) == OK
        assert [event["type"] for event in events] == ["submitted", "started", "success"]
        assert {event["task_id"] for event in events} == {task_id}


class TestBackup:
    @pytest.mark.stores("sqlite")
    def test_a_live_database_is_copied(self, rota, target, tmp_path):
        mine = {submit(rota, target.url("/ok/copy"), "--in", "1h") for _ in range(5)}
        done = rota.cli("backup", str(tmp_path / "copy.db"))
        assert done.returncode == OK, done
        assert sqlite3.connect(tmp_path / "copy.db").execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert sqlite3.connect(tmp_path / "copy.db").execute("SELECT count(*) FROM tasks").fetchone()[0] == len(mine)

    @pytest.mark.stores("postgres")
    def test_on_postgres_it_says_what_to_use(self, rota, tmp_path):
        done = rota.cli("backup", str(tmp_path / "copy.db"))
        assert done.returncode == SERVER_SAYS_NO and "pg_dump" in done.stderr
        assert list(tmp_path.iterdir()) == []
