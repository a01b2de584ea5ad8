"""Tasks from the command line: bodies, times as people type them, changing one, and waiting for several."""

import datetime
import json
import re
import zoneinfo

import pytest

from support.fake import Fake, reply, run_on_terminal
from support.rota import run_cli
from support.times import to_ms
from support.wait import now_ms, wait_until

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4
NOBODY = "t0000000000001"
BERLIN = {"TZ": "Europe/Berlin"}


def submit(rota, *args, **more):
    done = rota.cli("submit", *args, **more)
    assert done.returncode == OK, done
    return done.stdout.strip()


class TestJson:
    def test_a_json_body_has_its_type(self, shared, target):
        submit(shared, target.url("/ok/json"), "--json", '{"invoice": 42.50}')
        (call,) = target.wait_calls(1)
        assert (call.body, call.header("Content-Type")) == (b'{"invoice": 42.50}', "application/json")

    @pytest.mark.parametrize("text", ['"a string"', "null", "[]", "17", "true"])
    def test_any_json_is_json(self, shared, target, text):
        submit(shared, target.url("/ok/any"), "--json", text)
        (call,) = target.wait_calls(1)
        assert (call.body, call.header("Content-Type")) == (text.encode(), "application/json")

    def test_a_type_that_is_given_counts(self, shared, target):
        submit(shared, target.url("/ok/typed"), "--json", "{}", "--header", "content-type: application/vnd.me+json")
        assert target.wait_calls(1)[0].header("Content-Type") == "application/vnd.me+json"

    @pytest.mark.parametrize("option", ["-", "@-"])
    def test_json_from_stdin(self, shared, target, option):
        submit(shared, target.url("/ok/stdin"), "--json", option, input='{"a": [1, 2]}')
        assert target.wait_calls(1)[0].body == b'{"a": [1, 2]}'

    def test_who_types_json_as_a_body_is_told_of_the_type(self, shared, target):
        say = lambda *args: run_on_terminal("submit", target.url("/ok/typed"), *args, server=shared.url, columns=100)[1]
        assert "--json sends it with one" in say("--body", '{"a": 1}')
        for others in (["--body", "plain"], ["--body", "17"], ["--json", "{}"], ["--body", "{}", "--header", "Content-Type: a/b"]):
            assert "--json" not in say(*others)
        assert shared.cli("submit", target.url("/ok/script"), "--body", "{}").stderr == ""

    def test_what_is_no_json_is_not_sent(self, unharmed, tmp_path):
        (tmp_path / "broken.json").write_text('{\n  "a": 1,\n}')
        done = unharmed.cli("submit", "http://127.0.0.1:9/", "--json", f"@{tmp_path}/broken.json")
        assert (done.returncode, done.stdout) == (USAGE, ""), done
        assert "broken.json is not JSON: Line 3, column 1" in done.stderr


class TestTimes:
    def planned(self, rota, *args, **env):
        task_id = submit(rota, "http://127.0.0.1:9/", *args, env=env)
        return rota.api.task(task_id)["scheduled_at"]

    @pytest.mark.parametrize("typed", ["2030-07-01 9:00", "2030-07-01T09:00", "2030-07-01 09:00:00", "2030-07-01T09:00+02:00"])
    def test_a_time_without_a_zone_is_local(self, shared, typed):
        assert self.planned(shared, "--at", typed, **BERLIN) == "2030-07-01T07:00:00.000Z"

    def test_a_time_of_day_is_the_next_one(self, shared):
        soon = datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")) + datetime.timedelta(hours=3)
        past = soon - datetime.timedelta(hours=6)
        for typed in (soon, past):
            at = to_ms(self.planned(shared, "--at", typed.strftime("%H:%M"), **BERLIN))
            assert now_ms() < at < now_ms() + 25 * 3_600_000
            local = datetime.datetime.fromtimestamp(at / 1000, zoneinfo.ZoneInfo("Europe/Berlin"))
            assert (local.hour, local.minute, local.second) == (typed.hour, typed.minute, 0)

    def test_a_time_that_clocks_leave_out_or_show_twice_is_spoken_of(self, shared):
        done = shared.cli("submit", "http://127.0.0.1:9/", "--at", "2030-03-31 02:30", env=BERLIN)
        assert done.returncode == OK and "taken as 2030-03-31 03:30:00 +0200" in done.stderr, done
        done = shared.cli("submit", "http://127.0.0.1:9/", "--at", "2030-10-27 02:30", env=BERLIN)
        assert done.returncode == OK and "taken as the one at 2030-10-27 02:30:00 +0200" in done.stderr, done

    def test_a_time_in_the_past_is_said(self, shared, target):
        done = shared.cli("submit", target.url("/ok/past"), "--at", "2020-01-01T00:00:00Z", env={"TZ": "UTC"})
        assert (done.returncode, done.stderr) == (OK, "2020-01-01 00:00:00 has passed: runs now\n"), done
        target.wait_calls(1)

    def test_a_time_to_come_is_not_spoken_of(self, shared):
        done = shared.cli("submit", "http://127.0.0.1:9/", "--at", "2030-01-01T00:00:00Z")
        assert (done.returncode, done.stderr) == (OK, ""), done

    @pytest.mark.parametrize("option", ["--at", "--not-after"])
    def test_what_is_no_time_is_answered_with_every_form_that_works(self, unharmed, option):
        done = unharmed.cli("submit", "http://127.0.0.1:9/", option, "4pm")
        assert (done.returncode, done.stdout) == (USAGE, ""), done
        assert all(form in done.stderr for form in ["16:00", "'2030-01-31 9:00'", "2030-01-31T09:00", "2030-01-31T09:00:00Z"])

    def test_lists_take_the_same_times(self, shared):
        task_id = submit(shared, "http://127.0.0.1:9/", "--at", "2030-01-31 9:00", "--queue", "cli.due", env=BERLIN)
        found = lambda typed: task_id in shared.cli("list", "--queue", "cli.due", "--due-before", typed, env=BERLIN).stdout
        assert found("2030-01-31 9:01") and not found("2030-01-31 9:00") and not found("10m")
        done = shared.cli("list", "--due-before", "4pm")
        assert done.returncode == USAGE and "1h30m" in done.stderr and "'2030-01-31 9:00'" in done.stderr, done

    def test_sums_of_units_are_durations_of_the_api(self, shared_api):
        task = shared_api.submit("http://127.0.0.1:9/", **{"in": "1h30m", "timeout": "1m30s", "not_after": "1d12h"})
        assert (task["in"], task["timeout"], task["not_after"]) == ("90m", "90s", "36h")


def test_every_field_has_an_option(shared):
    task_id = submit(
        shared,
        "http://127.0.0.1:9/",
        *["--in", "1h", "--not-after", "2h", "--retry", "7", "--retry-delay", "2s", "--backoff", "fixed", "--retry-max-delay", "1m"],
        *["--retry-jitter", "false", "--success-codes", "2xx,304", "--sla", "9s", "--ttl", "2h", "--on-lost", "bury", "--lost-max", "2"],
        *["--tracing-id", "trace", "--created-by", "me", "--traceparent", "00-" + "1" * 32 + "-" + "2" * 16 + "-01"],
    )
    task = shared.api.task(task_id)
    assert task["retry"] == {"max": 7, "delay": "2s", "backoff": "fixed", "max_delay": "1m", "jitter": False}
    assert (task["not_after"], task["success_codes"], task["sla"], task["ttl"]) == ("2h", ["2xx", 304], "9s", "2h")
    assert (task["on_lost"], task["lost_max"], task["tracing_id"], task["created_by"]) == ("bury", 2, "trace", "me")
    kept = submit(shared, "http://127.0.0.1:9/", "--in", "1h", "--ttl", "never")
    assert shared.api.task(kept)["ttl"] is None


def test_a_wrong_schedule_is_refused_by_the_option_that_is_wrong(shared):
    done = shared.cli("submit", "http://127.0.0.1:9/", "--every", "1h", "--exclude", "12-25", "--exclude", "02-30")
    assert done.returncode == SERVER_SAYS_NO and "--exclude" in done.stderr and "a date like" in done.stderr, done
    done = shared.cli("submit", "http://127.0.0.1:9/", "--every", "1h", "--wait")
    assert done.returncode == USAGE and "one job" in done.stderr, done


def test_a_task_is_found_by_its_key(shared):
    key = "list ü&key=x"
    task_id = submit(shared, "http://127.0.0.1:9/", "--in", "1h", "--key", key)
    submit(shared, "http://127.0.0.1:9/", "--in", "1h", "--key", key + " another")
    for kind, its_id in ([], task_id), (["--jobs"], "j" + task_id[1:]):
        done = shared.cli("list", *kind, "--key", key, "-o", "jsonl")
        assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [its_id], done
    done = shared.cli("cancel", "--key", key, "--yes")
    assert done.returncode == OK and "1 changed" in done.stdout, done


class TestUpdate:
    def test_what_is_given_is_different_and_the_rest_stays(self, shared, target):
        task_id = submit(shared, target.url("/ok/a"), "--in", "1h", "--name", "stays", "--retry-delay", "2s", "--label", "a=1")
        done = shared.cli(
            "update", task_id, "--at", "2030-07-01 9:00", "--priority", "9", "--retry", "5",
            *["--url", target.url("/ok/b"), "--label", "b=2"], env=BERLIN,
        )  # fmt: skip
        assert done.returncode == OK, done
        assert "planned   2030-07-01 09:00:00" in done.stdout and task_id in done.stdout
        task = shared.api.task(task_id)
        assert (task["priority"], task["url"], task["name"]) == (9, target.url("/ok/b"), "stays")
        assert (task["retry"]["max"], task["retry"]["delay"], task["labels"]) == (5, "2s", {"a": "1", "b": "2"})
        assert task["job"]["scheduled_at"] == "2030-07-01T07:00:00.000Z"

    def test_a_json_body_takes_the_place_of_the_one_before(self, shared, target):
        task_id = submit(shared, target.url("/ok/body"), "--in", "1h", "--json", '{"a": 1}')
        assert shared.cli("update", task_id, "--json", '{"b": 2}', "--in", "0s").returncode == OK
        (call,) = target.wait_calls(1)
        assert (call.body, call.header("Content-Type")) == (b'{"b": 2}', "application/json")

    def test_what_is_cleared_is_as_if_it_had_not_been_given(self, shared):
        task_id = submit(shared, "http://127.0.0.1:9/", "--in", "1h", "--label", "a=1", "--not-after", "2h", "--retry-delay", "9s")
        cleared = ["--clear", "label", "--clear", "not-after", "--clear", "retry-delay"]
        done = shared.cli("update", task_id, *cleared, "-o", "json")
        assert done.returncode == OK, done
        task = json.loads(done.stdout)
        assert ("labels" in task, "not_after" in task, task["retry"]["delay"]) == (False, False, "5s")

    def test_for_ever_is_never(self, shared):
        task_id = submit(shared, "http://127.0.0.1:9/", "--in", "1h")
        done = shared.cli("update", task_id, "--ttl", "never", "-o", "json")
        assert (done.returncode, json.loads(done.stdout)["ttl"]) == (OK, None), done

    def test_only_the_version_that_was_seen(self, shared):
        task_id = submit(shared, "http://127.0.0.1:9/", "--in", "1h")
        assert shared.cli("update", task_id, "--if-version", "1", "--name", "first").returncode == OK
        done = shared.cli("update", task_id, "--if-version", "1", "--name", "second")
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, ""), done
        assert "version_mismatch" in done.stderr and "rota get" in done.stderr
        assert re.search(r"^version +2$", shared.cli("get", task_id).stdout, re.M)

    def test_a_time_for_what_waits_for_a_retry_is_not_quietly_ignored(self, shared, target):
        task_id = submit(shared, target.url("/status/503"), "--retry-delay", "1h")
        wait_until(lambda: shared.api.task(task_id)["job"]["retry_count"] == 1, "the first try has failed")
        done = shared.cli("update", task_id, "--in", "0s")
        assert done.returncode == OK and f"rota run {task_id} starts it now" in done.stderr, done
        assert shared.cli("update", task_id, "--name", "x").stderr == ""

    def test_what_has_ended_is_not_changed(self, shared, target):
        task_id = submit(shared, target.url("/ok/ended"), "--wait", "-o", "jsonl")
        task_id = json.loads(task_id)["id"]
        done = shared.cli("update", task_id, "--name", "late")
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, ""), done

    def test_a_refusal_names_the_option(self, shared):
        task_id = submit(shared, "http://127.0.0.1:9/", "--in", "1h")
        done = shared.cli("update", task_id, "--retry-max-delay", "9000d")
        assert done.returncode == SERVER_SAYS_NO and "(--retry-max-delay)" in done.stderr, done

    @pytest.mark.parametrize(
        "args, words",
        [
            ([NOBODY], "say what shall be different"),
            ([NOBODY, "--clear", "at"], "--clear takes the name of an option"),
            ([NOBODY, "--clear", "name", "--name", "x"], "given and cleared"),
            ([NOBODY, "--if-version", "x", "--name", "y"], "--if-version takes the version"),
            (["j0000000000001", "--name", "x"], "takes a task's"),
            ([NOBODY, "--key", "x"], "no option --key"),
        ],
    )
    def test_wrong_usage(self, unharmed, args, words):
        done = unharmed.cli("update", *args)
        assert (done.returncode, done.stdout) == (USAGE, ""), done
        assert words in done.stderr


class TestWait:
    def test_for_all_to_succeed(self, shared, target):
        ids = [submit(shared, target.url("/slow/200")), submit(shared, target.url("/ok/wait"))]
        done = shared.cli("wait", *ids)
        assert (done.returncode, done.stdout) == (OK, "".join(f"{one}  success  200\n" for one in ids)), done

    def test_one_that_failed_is_1(self, shared, target):
        ids = [submit(shared, target.url("/status/500"), "--retry", "0"), submit(shared, target.url("/ok/wait"))]
        done = shared.cli("wait", *ids)
        assert done.returncode == JOB_FAILED, done
        assert done.stdout.splitlines() == [f"{ids[0]}  aborted  500  HTTP 500", f"{ids[1]}  success  200"]

    def test_one_that_was_cancelled_is_3(self, shared, target):
        task_id = submit(shared, target.url("/ok/wait"), "--in", "1h")
        shared.cli("cancel", task_id)
        done = shared.cli("wait", task_id)
        assert done.returncode == SERVER_SAYS_NO and done.stdout.startswith(f"{task_id}  cancelled"), done

    def test_one_that_is_not_there_is_3_and_the_others_are_waited_for(self, shared, target):
        task_id = submit(shared, target.url("/ok/wait"))
        done = shared.cli("wait", NOBODY, task_id)
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, f"{task_id}  success  200\n"), done

    def test_a_job_by_its_own_id(self, shared, target):
        job_id = "j" + submit(shared, target.url("/slow/100"))[1:]
        done = shared.cli("wait", job_id, "-o", "jsonl")
        assert done.returncode == OK, done
        assert [json.loads(line)["state"] for line in done.stdout.splitlines()] == ["success"]

    def test_what_holds_it_up_is_said(self, shared, target):
        task_id = submit(shared, target.url("/ok/held"), "--in", "1h")
        shared.cli("pause", task_id)
        with shared.cli_begun("wait", task_id) as waiting:
            assert "rota resume" in waiting.stderr.readline()
            shared.cli("resume", task_id)
            shared.cli("run", task_id)
            assert waiting.wait(60) == OK

    def test_one_that_is_deleted_meanwhile_is_3(self, shared, target):
        task_id = submit(shared, target.url("/ok/deleted"), "--in", "1h")
        shared.cli("pause", task_id)
        with shared.cli_begun("wait", task_id) as waiting:
            assert "it waits" in waiting.stderr.readline()
            shared.cli("delete", task_id)
            assert waiting.wait(60) == SERVER_SAYS_NO

    def test_one_that_is_gone_before_its_end_was_seen_is_3_and_said(self):
        """By hand or by its ttl: its job was there, and then it is not."""

        def answer(handler):
            waits = {"id": NOBODY, "state": "active", "job": {"id": "j0000000000001", "state": "delayed"}}
            status, document = (200, waits) if len(fake.asked) < 3 else (404, {"code": "not_found"})
            reply(handler, status, json.dumps(document).encode(), "application/json")

        with Fake(answer) as fake:
            done = run_cli("wait", NOBODY, server=fake.url)
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, ""), done
        assert f"how {NOBODY} ended is not known: it was deleted, or its ttl ended, meanwhile" in done.stderr

    def test_what_is_no_job_is_not_waited_for(self):
        with Fake(lambda handler: reply(handler, 200, b"{}", "application/json")) as fake:
            done = run_cli("wait", NOBODY, server=fake.url)
        assert (done.returncode, done.stdout) == (NOT_REACHED, ""), done

    def test_no_server(self):
        assert run_cli("wait", NOBODY, server="http://127.0.0.1:9").returncode == NOT_REACHED


class TestPause:
    def test_a_note_is_kept_with_the_recurring_task_and_shown(self, shared, target):
        task_id = submit(shared, target.url("/ok/noted"), "--cron", "0 0 1 1 *")
        assert shared.cli("pause", task_id, "--note", 'the "shop" moves').returncode == OK
        assert shared.api.task(task_id)["paused"]["note"] == 'the "shop" moves'
        shown = shared.cli("get", task_id).stdout
        assert re.search(r'^paused +since .+, by hand: the "shop" moves$', shown, re.MULTILINE), shown
        assert 'by hand, at ' in (said := shared.cli("explain", task_id).stdout) and 'the "shop" moves' in said, said
        assert shared.cli("resume", task_id, "--note", "it has moved", "--missed", "all").returncode == OK
        assert shared.api.task(task_id)["paused"] is None
        assert not re.search("^paused ", shared.cli("get", task_id).stdout, re.MULTILINE)

    def test_what_was_missed_runs_as_it_is_said(self, shared, target):
        task_id = submit(shared, target.url("/ok/cli-missed"), "--every", "1s")
        shared.cli("pause", task_id)
        since = to_ms(shared.api.task(task_id)["paused"]["since"])
        wait_until(lambda: now_ms() > since + 3000)
        at = now_ms()
        assert shared.cli("resume", task_id, "--missed", "all").returncode == OK
        late = lambda: [call for call in target.calls(path="/ok/cli-missed") if since < to_ms(call.header("Rota-Nominal-At")) <= at]
        wait_until(lambda: len(late()) >= 2)
        shared.cli("cancel", task_id)

    @pytest.mark.parametrize("args", [["--queue", "q", "--note", "x"], ["--all", "--note", "x"], ["--note", "x"]])
    def test_a_note_goes_with_ids_only(self, unharmed, args):
        done = unharmed.cli("pause", *args)
        assert done.returncode == USAGE and "go with ids of recurring tasks" in done.stderr, done
