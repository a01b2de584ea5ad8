"""What the command line makes of answers that a real server gives rarely, or only on a bad day: pages that are empty, streams
that break, copies that are cut. A stand-in gives them."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import urllib.parse

import pytest

from support.fake import Fake, begin_stream, reply, run_on_terminal
from support.rota import binary, run_cli
from support.wait import wait_until

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED, NOT_WRITTEN = 0, 1, 2, 3, 4, 5
TASK, JOB = "t0000000000001", "j0000000000001"


def answer_json(handler, document, status=200):
    reply(handler, status, json.dumps(document).encode(), "application/json" if status < 300 else "application/problem+json")


def query(path):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))


def task(number, **more):
    return {"id": "t%013d" % number, "state": "active", "scheduled_at": "2026-01-01T00:00:00.000Z", "name": f"task {number}",
            "method": "POST", "url": f"http://127.0.0.1:8000/{number}", "queue": "default", "job": {"state": "delayed"}, **more}


class TestList:
    PAGES = {None: ([1, 2], "a"), "a": ([], "b c&"), "b c&": ([3], "d"), "d": ([4, 5], None)}

    def answer(self, handler):
        numbers, next_cursor = self.PAGES[query(handler.path).get("cursor")]
        answer_json(handler, {"items": [task(number) for number in numbers], "next": next_cursor})

    def ids(self, text):
        return re.findall(r"^t0+(\d) ", text, re.M)

    def test_pages_are_followed_also_when_they_are_empty(self):
        with Fake(self.answer) as fake:
            done = run_cli("list", "--all", server=fake.url)
        assert done.returncode == OK, done
        assert self.ids(done.stdout) == ["1", "2", "3", "4", "5"]
        assert [query(path).get("cursor") for _, path, _ in fake.asked] == [None, "a", "b c&", "d"]
        assert done.stdout.count("planned") == 1, "the titles stand once"

    def test_no_more_than_wanted_is_asked_for(self):
        with Fake(self.answer) as fake:
            done = run_cli("list", "--limit", "3", server=fake.url)
        assert self.ids(done.stdout) == ["1", "2", "3"]
        assert [query(path)["limit"] for _, path, _ in fake.asked] == ["3", "1", "1"]
        assert "--all" in done.stderr

    def test_all_pages_are_one_array_or_lines(self):
        with Fake(self.answer) as fake:
            whole = json.loads(run_cli("list", "--all", "-o", "json", server=fake.url).stdout)
            lines = run_cli("list", "--all", "-o", "jsonl", server=fake.url).stdout.splitlines()
        assert whole == [task(number) for number in range(1, 6)]
        assert [json.loads(line) for line in lines] == whole

    def test_nothing_is_an_empty_array(self):
        with Fake(lambda handler: answer_json(handler, {"items": [], "next": None})) as fake:
            assert json.loads(run_cli("list", "-o", "json", server=fake.url).stdout) == []
            assert run_cli("list", server=fake.url).stdout == ""

    def test_filters_become_parameters(self):
        with Fake(lambda handler: answer_json(handler, {"items": [], "next": None})) as fake:
            run_cli("list", "--state", "active", "--queue", "q&x=y", "--name", "ä b", "--label", "team=a=b", "--label", "k v=",
                    "--due-before", "2030-01-31T09:00:00+01:00", server=fake.url)
            run_cli("list", "--jobs", "--state", "aborted", "--due-before", "1h30m", server=fake.url)
        (_, tasks, _), (_, jobs, _) = fake.asked
        assert urllib.parse.parse_qsl(urllib.parse.urlsplit(tasks).query, keep_blank_values=True) == [
            ("state", "active"), ("queue", "q&x=y"), ("name", "ä b"), ("label.team", "a=b"), ("label.k v", ""),
            ("due_before", "2030-01-31T08:00:00.000Z"), ("limit", "50")]
        assert jobs.startswith("/v1/jobs?")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", query(jobs)["due_before"])

    def test_a_cursor_that_stands_still_is_not_followed_for_ever(self):
        with Fake(lambda handler: answer_json(handler, {"items": [task(1)], "next": "same"})) as fake:
            done = run_cli("list", "--all", server=fake.url)
        assert done.returncode == SERVER_SAYS_NO and len(fake.asked) == 2, done

    def test_values_keep_their_bytes(self):
        text = b'{"items":[{"id":"t1","body":{"n":12345678901234567890.50,"s":"a\\u0000]}"}}],"next":null}'
        with Fake(lambda handler: reply(handler, 200, text, "application/json")) as fake:
            done = run_cli("list", "-o", "jsonl", server=fake.url)
        assert done.stdout == '{"id":"t1","body":{"n":12345678901234567890.50,"s":"a\\u0000]}"}}\n'

    @pytest.mark.parametrize("columns", [200, 100, 80, 60, 40, 20, 10])
    def test_on_a_terminal_no_line_is_wrapped(self, columns):
        items = [task(1, name="a long name " * 5, url="http://127.0.0.1:8000/" + "x" * 150),
                 task(2, name="日本語の長い名前" * 4, queue="q" * 64, state="paused"), task(3, name="\x1b[31m\n" * 9)]
        with Fake(lambda handler: answer_json(handler, {"items": items, "next": None})) as fake:
            code, written = run_on_terminal("list", server=fake.url, columns=columns, env={"NO_COLOR": "1"})
        assert code == OK
        lines = written.replace("\r\n", "\n").splitlines()
        assert len(lines) == 4
        assert max(map(width, lines)) <= columns, written
        if columns >= 40:
            assert all("t%013d" % number in line for number, line in enumerate(lines) if number)

    def test_at_eighty_columns_calls_can_be_told_apart(self):
        hosts = ["https://hooks.example.com/v1/services/orders/created", "http://127.0.0.1:8000/orders"]
        items = [task(number, name="a name of some length", url=f"{host}/{number}") for number in (1, 2) for host in hosts]
        with Fake(lambda handler: answer_json(handler, {"items": items, "next": None})) as fake:
            _, written = run_on_terminal("list", server=fake.url, columns=80, env={"NO_COLOR": "1"})
        calls = [line.split("POST ")[1] for line in written.splitlines() if "POST " in line]
        assert len(set(calls)) == 4 and [call[-2:] for call in calls] == ["/1", "/1", "/2", "/2"], written
        assert calls[1].startswith("1") and calls[0].startswith("h") and "://" not in written, written  # how many more depends on the hour

    def test_colours_only_on_a_terminal_whose_user_wants_them(self):
        with Fake(lambda handler: answer_json(handler, {"items": [task(1)], "next": None})) as fake:
            assert "\x1b[36mactive\x1b[0m" in run_on_terminal("list", server=fake.url, columns=100)[1]
            assert "\x1b" not in run_on_terminal("list", server=fake.url, columns=100, env={"NO_COLOR": "1"})[1]
            assert "\x1b" not in run_on_terminal("list", server=fake.url, columns=100, env={"TERM": "dumb"})[1]
            assert "\x1b" not in run_cli("list", server=fake.url).stdout


def width(line):
    return sum(2 if ord(c) >= 0x2E80 else 1 for c in line)


class TestExplain:
    CAUSES = [{"what": "queue_paused", "id": "mail", "detail": "Its queue is paused."}, {"what": "slot", "detail": "All busy."}]
    WHY = {"state": "ready", "waiting_for": CAUSES,
           "expected_start": None, "text": "It is due, and its queue mail is paused."}

    def answer(self, handler):
        if handler.path.endswith("/explain"):
            answer_json(handler, self.WHY)
        else:
            answer_json(handler, task(1, job={"id": JOB, "task_id": TASK, "state": "ready"}))

    def test_of_a_job(self):
        with Fake(self.answer) as fake:
            done = run_cli("explain", JOB, server=fake.url)
            assert json.loads(run_cli("explain", JOB, "-o", "json", server=fake.url).stdout) == self.WHY
        assert done.stdout == ("Its queue is paused. Let it go with: rota resume --queue mail\nAll busy.\n\n"
                               "state     ready\n")

    def test_of_a_task_the_server_is_asked_about_the_task(self):
        with Fake(self.answer) as fake:
            done = run_cli("explain", TASK, server=fake.url)
        assert done.returncode == OK and "paused" in done.stdout
        assert [path for _, path, _ in fake.asked] == [f"/v1/tasks/{TASK}/explain"]

    def test_notes_stand_behind_what_is_waited_for(self):
        why = {**self.WHY, "notes": ["Its last run failed.", "Its schedule has ended."]}
        with Fake(lambda handler: answer_json(handler, why)) as fake:
            assert run_cli("explain", TASK, server=fake.url).stdout == (
                "Its queue is paused. Let it go with: rota resume --queue mail\nAll busy.\nIts last run failed.\nIts schedule has ended.\n\n"
                "state     ready\n")

    def test_get_says_what_a_due_job_waits_for(self):
        with Fake(self.answer) as fake:
            assert ("waits     Its queue is paused. Let it go with: rota resume --queue mail\n          All busy.\n"
                    in run_cli("get", TASK, server=fake.url).stdout)


class TestGet:
    @pytest.mark.parametrize("member, line", [
        ({"result": {"slept": 0.5, "n": [1, "\x1b"]}}, 'result    {"slept": 0.5, "n": [1, "\\u001B"]}'),
        ({"result": 0.1}, "result    0.1"), ({"result": [10**30, 1]}, "result    [1e30, 1.0]"), ({"result": "a text"}, 'result    "a text"'), ({"result": False}, "result    false"),
        ({"progress": {"done": 3, "of": 10}, "result": None}, 'progress  {"done": 3, "of": 10}'),
    ])
    def test_what_a_target_said_later(self, member, line):
        with Fake(lambda handler: answer_json(handler, {"id": JOB, "task_id": TASK, "state": "reserved", **member})) as fake:
            assert line in run_cli("get", JOB, server=fake.url).stdout.splitlines()

    def test_a_large_result_is_cut(self):
        with Fake(lambda handler: answer_json(handler, {"id": JOB, "task_id": TASK, "result": ["x" * 9000]})) as fake:
            (line,) = [line for line in run_cli("get", JOB, server=fake.url).stdout.splitlines() if line.startswith("result")]
        assert len(line) < 400 and line.endswith("(more with -o json)")


class TestSteering:
    def test_what_retention_has_removed_is_done_all_the_same(self):
        def answer(handler):
            handler.send_response(204)
            handler.end_headers()

        with Fake(answer) as fake:
            done = run_cli("cancel", TASK, server=fake.url)
            assert (done.returncode, done.stdout) == (OK, f"{TASK}  gone\n")
            done = run_cli("cancel", TASK, "-o", "json", server=fake.url)
            assert (done.returncode, done.stdout) == (OK, "") and TASK in done.stderr

    @pytest.mark.parametrize("args, method, path", [
        (["pause", TASK], "POST", f"/v1/tasks/{TASK}/pause"),
        (["resume", TASK], "POST", f"/v1/tasks/{TASK}/resume"),
        (["delete", TASK], "DELETE", f"/v1/tasks/{TASK}"),
        (["delete", TASK, "--running"], "DELETE", f"/v1/tasks/{TASK}?running=1"),
        (["pause", "--queue", "a b"], "POST", "/v1/queues/a%20b/pause"),
        (["delete", "--queues", "a b"], "DELETE", "/v1/queues/a%20b"),
    ])
    def test_verbs_and_their_routes(self, args, method, path):
        with Fake(lambda handler: answer_json(handler, task(1, state="paused"))) as fake:
            done = run_cli(*args, server=fake.url)
        assert done.returncode == OK, done
        assert fake.asked[0][:2] == (method, path)

    def test_one_that_is_refused_does_not_keep_the_others_back(self):
        def answer(handler):
            refused = handler.path.startswith(f"/v1/tasks/{TASK}/")
            answer_json(handler, {"title": "no", "code": "illegal_transition"} if refused else task(2), 409 if refused else 200)

        with Fake(answer) as fake:
            done = run_cli("pause", TASK, "t0000000000002", server=fake.url)
        assert done.returncode == SERVER_SAYS_NO
        assert f"(for {TASK})" in done.stderr and "t0000000000002  active" in done.stdout


class TestBulk:
    def answer(self, handler):
        if handler.command == "POST":
            self.sent = json.loads(handler.body or b"null")
            return answer_json(handler, self.bulk("running", 0), 202)
        if handler.path.startswith("/v1/bulk/"):
            self.looks += 1
            return answer_json(handler, self.bulk("running" if self.looks < 3 else "done", self.looks, self.failed))
        answer_json(handler, {"items": [task(1)] if self.matches else [], "next": None})

    @pytest.fixture(autouse=True)
    def fresh(self):
        self.sent, self.looks, self.failed, self.matches = None, 0, 0, True

    def bulk(self, state, changed, failed=0):
        return {"id": "b0000000000001", "action": "cancel", "filter": {"queue": "mail"}, "state": state,
                "matched": changed, "changed": changed, "unchanged": 0, "failed": failed}

    def test_all_that_match_and_waits_for_the_end(self):
        with Fake(self.answer) as fake:
            done = run_cli("cancel", "--queue", "mail", "--label", "a=b", "--yes", server=fake.url)
        assert (done.returncode, done.stdout) == (OK, "b0000000000001  done  3 changed, 0 unchanged, 0 failed\n"), done
        assert self.sent == {"action": "cancel", "filter": {"queue": "mail", "label.a": "b"}}

    def test_everything_has_to_be_said(self):
        with Fake(self.answer) as fake:
            assert run_cli("retry", "--all", "--yes", server=fake.url).returncode == OK
        assert self.sent == {"action": "retry", "filter": {}}

    def test_what_failed_is_no_success(self):
        self.failed = 1
        with Fake(self.answer) as fake:
            done = run_cli("run", "--state", "active", "--yes", "-o", "json", server=fake.url)
        assert (done.returncode, json.loads(done.stdout)["failed"]) == (SERVER_SAYS_NO, 1)

    def test_a_script_has_to_say_yes(self):
        with Fake(self.answer) as fake:
            done = run_cli("delete", "--queue", "mail", server=fake.url)
        assert (done.returncode, fake.asked) == (USAGE, [])
        assert "--yes" in done.stderr and "all tasks where queue=mail" in done.stderr
        done = run_cli("retry", "--all", server=fake.url)
        assert "all jobs where (everything)" in done.stderr and "rota list --jobs" in done.stderr

    @pytest.mark.parametrize("typed, code, acts", [("y\n", OK, True), ("n\n", USAGE, False), ("\n", USAGE, False)])
    def test_a_person_is_shown_some_and_asked(self, typed, code, acts):
        with Fake(self.answer) as fake:
            got, written = run_on_terminal("cancel", "--queue", "mail", server=fake.url, columns=100, typed=typed)
        assert got == code, written
        assert task(1)["id"] in written and "cancel 1 task where queue=mail? [y/N]" in written
        assert (self.sent is not None) == acts

    @pytest.mark.parametrize("matches, words", [(5, "5 tasks"), (37, "37 tasks"), (100, "100 tasks"), (250, "100 or more tasks")])
    def test_a_person_is_told_how_many(self, matches, words):
        def answer(handler):
            asked = query(handler.path)
            first, limit = int(asked.get("cursor", 0)), int(asked["limit"])
            last = min(first + limit, matches)
            answer_json(handler, {"items": [task(number + 1) for number in range(first, last)],
                                  "next": str(last) if last < matches else None})

        with Fake(answer) as fake:
            _, written = run_on_terminal("delete", "--state", "done", "--label", "a=b", server=fake.url, columns=100, typed="n\n")
        assert f"delete {words} where state=done, label.a=b? [y/N]" in written
        assert len(re.findall(r"^t0", written, re.M)) == 5

    def test_a_filter_that_little_matches_is_not_followed_for_ever(self):
        def answer(handler):
            at = int(query(handler.path).get("cursor", 0))
            answer_json(handler, {"items": [], "next": str(at + 1)})

        with Fake(answer) as fake:
            _, written = run_on_terminal("cancel", "--name", "x", server=fake.url, columns=100, typed="n\n")
        assert "cancel all tasks where name=x? [y/N]" in written and len(fake.asked) < 50

    def test_where_nothing_matches_nothing_is_asked(self):
        self.matches = False
        with Fake(self.answer) as fake:
            code, written = run_on_terminal("cancel", "--queue", "mail", server=fake.url, columns=100)
        assert (code, self.sent) == (OK, None) and "nothing matches" in written

    def test_a_bulk_has_an_id_like_others(self):
        with Fake(lambda handler: answer_json(handler, self.bulk("stopped", 5))) as fake:
            assert "cancel where queue=mail" in run_cli("get", "b0000000000001", server=fake.url).stdout
            assert run_cli("cancel", "b0000000000001", server=fake.url).stdout == "b0000000000001  stopped\n"
        assert [method + " " + path for method, path, _ in fake.asked] == [
            "GET /v1/bulk/b0000000000001", "POST /v1/bulk/b0000000000001/stop"]


class TestTail:
    def test_a_lost_connection_is_made_again_behind_the_last_event(self):
        connections = []

        def answer(handler):
            connections.append(handler.headers.get("Last-Event-ID"))
            number = len(connections)
            if number == 3:
                return answer_json(handler, {"title": "stopping", "code": "stopping"}, 503)
            begin_stream(handler, "text/event-stream")
            ready = f': hello\nretry: 1\nid: {number - 0.5}\nevent: ready\ndata: {{"n":0}}\n\n'
            event = f'id: {number}\nevent: job\ndata: {{"n":{number},\ndata: "more":1}}\n\n'
            half = 'id: 99\ndata: {"ha'
            handler.wfile.write((ready + event + half).encode())

        with Fake(answer) as fake:
            done = run_cli("tail", "--count", "3", "-o", "jsonl", server=fake.url)
        assert done.returncode == OK, done
        # What the stream says of itself is shown, and not counted.
        assert [json.loads(line)["n"] for line in done.stdout.splitlines()] == [0, 1, 0, 2, 0, 4]
        # An event that was cut off is none, and neither is its id: the server sends it again.
        assert connections == [None, "1", "2", "2"]
        assert "trying again" in done.stderr and "back" in done.stderr

    def test_text_is_a_line_an_event(self):
        def answer(handler):
            begin_stream(handler, "text/event-stream")
            data = {"time": "2026-01-01T00:00:00.000Z", "job_id": JOB, "task_id": TASK, "state": "success", "status": 200,
                    "reason": "\x1b[2J"}
            handler.wfile.write(f"id: 7\nevent: success\ndata: {json.dumps(data)}\n\n".encode())

        with Fake(answer) as fake:
            done = run_cli("tail", "--count", "1", "--task", TASK, "--type", "success", "--after", "6", server=fake.url,
                           env={"TZ": "UTC"})
        assert done.stdout == f"00:00:00  success    {JOB}  {TASK}  status=200  reason=\\x1b[2J\n"
        assert query(fake.asked[0][1]) == {"task": TASK, "type": "success"}
        assert fake.asked[0][2]["Last-Event-ID"] == "6"

    def test_a_refusal_is_the_end(self):
        with Fake(lambda handler: answer_json(handler, {"title": "no", "code": "invalid_field"}, 422)) as fake:
            assert run_cli("tail", server=fake.url).returncode == SERVER_SAYS_NO

    def test_something_else_listens_there(self):
        with Fake(lambda handler: reply(handler, 200, b"<html>", "text/html")) as fake:
            done = run_cli("tail", server=fake.url)
        assert done.returncode == NOT_REACHED and "not a rota server" in done.stderr

    def test_a_reader_that_goes_away_ends_it(self):
        def answer(handler):
            begin_stream(handler, "text/event-stream")
            handler.wfile.write(b'data: {"n":1}\n\n' * 100000)

        with Fake(answer) as fake:
            done = subprocess.run(["sh", "-c", f'"{binary()}" tail -o jsonl --server {fake.url} | head -n 1'],
                                  capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith('{"n":1}\n')


class TestBackup:
    @pytest.fixture
    def database(self, tmp_path):
        path = tmp_path / "source.db"
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE t (x)")
            db.executemany("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 500)
        return path.read_bytes()

    def backup(self, fake, path):
        return run_cli("backup", str(path), server=fake.url)

    def rows(self, path):
        return sqlite3.connect(path).execute("SELECT count(*) FROM t").fetchone()[0]

    def test_the_file_is_the_database(self, database, tmp_path):
        with Fake(lambda handler: reply(handler, 200, database, "application/octet-stream")) as fake:
            done = self.backup(fake, tmp_path / "copy.db")
            again = json.loads(run_cli("backup", str(tmp_path / "again.db"), "-o", "json", server=fake.url).stdout)
        assert again["bytes"] == len(database)
        assert (done.returncode, done.stdout) == (OK, f"{tmp_path}/copy.db  {len(database)} bytes\n")
        assert self.rows(tmp_path / "copy.db") == 500
        assert sorted(os.listdir(tmp_path)) == ["again.db", "copy.db", "source.db"]

    def cut(self, handler, database):
        reply(handler, 200, database[:-4096], "application/octet-stream", length=len(database))

    def unmarked(self, handler, database):
        """Nothing in HTTP says here that it is cut."""
        begin_stream(handler, "application/octet-stream")
        handler.wfile.write(database[:-4096])

    def other(self, handler, database):
        reply(handler, 200, b"x" * 8192, "application/octet-stream")

    def page(self, handler, database):
        reply(handler, 200, database, "text/html")

    def refusal(self, handler, database):
        answer_json(handler, {"title": "no", "code": "unsupported", "detail": "Use pg_dump."}, 422)

    @pytest.mark.parametrize("how, code", [("cut", NOT_REACHED), ("unmarked", NOT_REACHED), ("other", NOT_REACHED),
                                           ("page", NOT_REACHED), ("refusal", SERVER_SAYS_NO)])
    def test_what_is_not_whole_leaves_the_old_file_and_nothing_else(self, database, tmp_path, how, code):
        (tmp_path / "source.db").unlink()
        (tmp_path / "copy.db").write_text("yesterday's")
        with Fake(lambda handler: getattr(self, how)(handler, database)) as fake:
            done = self.backup(fake, tmp_path / "copy.db")
        assert (done.returncode, done.stdout) == (code, ""), done
        assert done.stderr
        assert os.listdir(tmp_path) == ["copy.db"]
        assert (tmp_path / "copy.db").read_text() == "yesterday's"

    def test_the_reason_of_a_refusal_is_said(self, database, tmp_path):
        with Fake(lambda handler: self.refusal(handler, database)) as fake:
            assert "Use pg_dump." in self.backup(fake, tmp_path / "copy.db").stderr

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_leaves_no_half_file(self, database, tmp_path, number):
        over = threading.Event()

        def answer(handler):
            begin_stream(handler, "application/octet-stream")
            handler.wfile.write(database[:8192])
            over.wait(60)

        tmp = tmp_path / "copy.db.tmp"
        with Fake(answer) as fake:
            process = subprocess.Popen([binary(), "backup", str(tmp_path / "copy.db"), "--server", fake.url])
            wait_until(lambda: tmp.exists() and tmp.stat().st_size, "something was written")
            process.send_signal(number)
            assert process.wait(timeout=60) == -number
            over.set()
        assert os.listdir(tmp_path) == ["source.db"]

    def test_two_at_a_time_do_not_mix(self, database, tmp_path):
        over = threading.Event()

        def answer(handler):
            begin_stream(handler, "application/octet-stream")
            handler.wfile.write(database[:8192])
            over.wait(60)
            handler.wfile.write(database[8192:])

        tmp = tmp_path / "copy.db.tmp"
        with Fake(answer) as fake:
            first = subprocess.Popen([binary(), "backup", str(tmp_path / "copy.db"), "--server", fake.url],
                                     stdout=subprocess.DEVNULL)
            wait_until(lambda: tmp.exists() and tmp.stat().st_size, "something was written")
            second = self.backup(fake, tmp_path / "copy.db")
            over.set()
            assert (second.returncode, first.wait(timeout=60)) == (NOT_WRITTEN, OK), second
        assert self.rows(tmp_path / "copy.db") == 500

    def test_what_a_killed_one_left_is_written_over(self, database, tmp_path):
        (tmp_path / "copy.db.tmp").write_bytes(b"y" * (2 * len(database)))
        with Fake(lambda handler: reply(handler, 200, database, "application/octet-stream")) as fake:
            assert self.backup(fake, tmp_path / "copy.db").returncode == OK
        assert self.rows(tmp_path / "copy.db") == 500

    def test_a_database_in_use_is_not_written_over(self, database, tmp_path):
        (tmp_path / "source.db-wal").write_bytes(b"")
        with Fake(lambda handler: reply(handler, 200, b"", "application/octet-stream")) as fake:
            done = self.backup(fake, tmp_path / "source.db")
        assert done.returncode == USAGE and fake.asked == []
        assert (tmp_path / "source.db").read_bytes() == database

    def test_a_place_that_is_not_there(self, database, tmp_path):
        with Fake(lambda handler: reply(handler, 200, database, "application/octet-stream")) as fake:
            done = self.backup(fake, tmp_path / "no" / "copy.db")
        assert done.returncode == NOT_WRITTEN and "No such file" in done.stderr
