"""The verbs that steer and show, against a real server."""

import json
import re
import subprocess

import pytest

from support.fake import run_on_terminal
from support.rota import run_cli
from support.wait import wait_until

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4
NOBODY = "t0000000000001"


def submit(rota, *args):
    done = rota.cli("submit", *args)
    assert done.returncode == OK, done
    return done.stdout.strip()


def job_of(task_id):
    """A task's first job has the task's number."""
    return "j" + task_id[1:]


class TestSubmitUnderAKey:
    """A key that is known answers for the task it led to: what a script must not take for success, it is told by the exit code."""

    @pytest.mark.parametrize("wait", [[], ["--wait"]])
    def test_whose_task_was_cancelled_says_that_nothing_will_run(self, shared, target, wait):
        again = [target.url("/ok/known"), "--in", "1d", "--key", f"cancelled {wait}"]
        task_id = submit(shared, *again)
        assert shared.cli("cancel", task_id).returncode == OK
        done = shared.cli("submit", *again, *wait)
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, f"{task_id}\n"), done
        assert "nothing will run" in done.stderr and f"rota retry {task_id}" in done.stderr
        assert shared.cli("retry", task_id).returncode == OK
        assert shared.cli("submit", *again).returncode == OK

    def test_whose_task_waits_or_has_run_is_no_failure(self, shared, target):
        planned = [target.url("/ok/known"), "--in", "1d", "--key", "planned"]
        task_id = submit(shared, *planned)
        done = shared.cli("submit", *planned)
        assert (done.returncode, done.stdout, done.stderr) == (OK, f"{task_id}\n", f"{self.KNOWN}\n")
        assert shared.cli("pause", task_id).returncode == OK
        assert shared.cli("submit", *planned).stderr == f"{self.KNOWN}, and is paused: nothing runs until rota resume\n"

    KNOWN = "the key is known: this task was submitted before"

    @pytest.mark.parametrize("path, words", [("/ok", ", and has succeeded"), ("/status/500", ", and has failed: rota retry runs it once more")])
    def test_whose_task_has_ended_says_how(self, shared, target, path, words):
        again = [target.url(f"{path}/known"), "--retry", "0", "--key", path]
        shared.api.finished(submit(shared, *again))
        done = shared.cli("submit", *again)
        assert (done.returncode, done.stderr) == (OK, f"{self.KNOWN}{words}\n")

    def test_whose_task_was_kept_no_longer_says_so(self, shared, target):
        again = [target.url("/ok/known"), "--ttl", "0s", "--key", "cli kept no longer"]
        task_id = submit(shared, *again)
        wait_until(lambda: shared.api.get(f"/v1/tasks/{task_id}").status == 404, "it is not kept")
        assert shared.cli("submit", *again).stderr == f"{self.KNOWN}, has ended, and is not kept any more\n"


class TestRun:
    def test_a_task_need_not_wait_for_its_time(self, shared, target):
        task_id = submit(shared, target.url("/ok/run"), "--in", "1d")
        done = shared.cli("run", task_id)
        assert (done.returncode, done.stdout.split()[0]) == (OK, task_id), done
        assert shared.api.finished(task_id)["state"] == "success"

    def test_the_waiting_job_may_be_named(self, shared, target):
        task_id = submit(shared, target.url("/ok/run"), "--in", "1d")
        assert shared.cli("run", job_of(task_id)).returncode == OK
        assert shared.api.finished(task_id)["state"] == "success"

    def test_a_job_that_has_ended_is_not_run_but_retried(self, shared, target):
        task_id = submit(shared, target.url("/ok/run"))
        shared.api.finished(task_id)
        done = shared.cli("run", job_of(task_id))
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, ""), done
        assert f"rota retry {job_of(task_id)}" in done.stderr


class TestRetry:
    def test_a_job_once_more(self, shared, target):
        task_id = submit(shared, target.url("/ok/again"))
        shared.api.finished(task_id)
        done = shared.cli("retry", job_of(task_id), "-o", "json")
        assert done.returncode == OK, done
        assert json.loads(done.stdout)["parent_job_id"] == job_of(task_id)

    def test_of_a_task_its_newest_job_that_has_ended(self, shared, target):
        task_id = submit(shared, target.url("/ok/again"))
        shared.api.finished(task_id)
        first = json.loads(shared.cli("retry", task_id, "-o", "json").stdout)
        wait_until(lambda: shared.api.get(f"/v1/jobs/{first['id']}").json["state"] == "success", "the second job has ended")
        second = json.loads(shared.cli("retry", task_id, "-o", "json").stdout)
        assert (first["parent_job_id"], second["parent_job_id"]) == (job_of(task_id), first["id"])

    def test_what_has_not_ended_is_refused_by_the_server(self, shared, target):
        task_id = submit(shared, target.url("/ok/again"), "--in", "1d")
        done = shared.cli("retry", task_id)
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, ""), done
        assert "illegal_transition" in done.stderr


class TestQueues:
    def test_a_queue_is_held_and_let_go(self, shared, target):
        assert shared.cli("pause", "--queue", "cli.held").stdout == "cli.held  paused\n"
        task_id = submit(shared, target.url("/ok/held"), "--queue", "cli.held")
        assert shared.api.task(task_id)["job"]["state"] == "ready"
        assert "cli.held" in re.search(r"paused queues  (.*)", shared.cli("stats").stdout).group(1)
        row = re.search(r"cli\.held .*", shared.cli("list", "--queues", "--all").stdout).group(0)
        assert row.split()[:5] == ["cli.held", "paused", "1", "0", "1"]  # pending: none delayed, one ready
        let_go = json.loads(shared.cli("resume", "--queue", "cli.held", "-o", "json").stdout)
        assert let_go == {"queue": "cli.held", "paused": False}
        assert shared.api.finished(task_id)["state"] == "success"

    def test_a_name_where_an_id_belongs_is_told_where_it_belongs(self, shared):
        done = shared.cli("pause", "mail")
        assert done.returncode == USAGE
        assert "rota pause --queue mail" in done.stderr

    def test_queues_in_which_nothing_is_left_are_deleted(self, shared, target):
        for queue in ("cli.gone.a", "cli.gone.b"):
            shared.api.finished(submit(shared, target.url("/ok/gone"), "--queue", queue))
        done = shared.cli("delete", "--queues", "cli.gone.a", "cli.never", "cli.gone.b")
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, "cli.gone.a  gone\ncli.gone.b  gone\n")
        assert "not_found" in done.stderr and "cli.never" in done.stderr
        assert "cli.gone" not in shared.cli("list", "--queues", "--all").stdout

    def test_why_one_is_not_deleted_is_said_with_the_way_on(self, shared, target):
        task_id = submit(shared, target.url("/ok/full"), "--queue", "cli.full", "--in", "1h")
        done = shared.cli("delete", "--queues", "cli.full")
        assert (done.returncode, done.stdout) == (SERVER_SAYS_NO, "")
        assert "queue_not_empty" in done.stderr and "rota cancel --queue cli.full" in done.stderr
        assert shared.cli("cancel", task_id).returncode == OK
        assert shared.cli("pause", "--queue", "cli.full").returncode == OK
        assert "rota resume --queue cli.full" in shared.cli("delete", "--queues", "cli.full").stderr
        assert shared.cli("resume", "--queue", "cli.full").returncode == OK
        done = shared.cli("delete", "--queues", "cli.full", "-o", "json")
        assert (done.returncode, done.stdout) == (OK, "") and "cli.full" in done.stderr

    def test_a_name_that_no_queue_can_have(self, shared):
        done = shared.cli("pause", "--queue", "a/../b c")
        assert done.returncode == SERVER_SAYS_NO, done


class TestHoldingWhatMatches:
    def states(self, rota, ids):
        return [rota.api.task(task_id)["state"] for task_id in ids]

    def test_tasks_are_held_and_let_go_by_filters(self, shared, target):
        mine = [submit(shared, target.url("/ok/held"), "--in", "1h", "--label", "hold=me", "--queue", q) for q in ("ha", "ha", "hb")]
        other = submit(shared, target.url("/ok/held"), "--in", "1h", "--queue", "ha")
        done = shared.cli("pause", "--label", "hold=me", "--queue", "ha", "--yes")
        assert done.returncode == OK and "2 changed" in done.stdout, done
        assert self.states(shared, [*mine, other]) == ["paused", "paused", "active", "active"]
        queues = [json.loads(line) for line in shared.cli("list", "--queues", "--all", "-o", "jsonl").stdout.splitlines()]
        assert [queue["paused"] for queue in queues if queue["queue"] == "ha"] == [False]
        done = shared.cli("resume", "--label", "hold=me", "--yes", "-o", "json")
        assert (done.returncode, json.loads(done.stdout)["action"]) == (OK, "resume"), done
        assert self.states(shared, mine) == ["active"] * 3

    def test_queues_alone_are_held_themselves(self, shared):
        done = shared.cli("pause", "--queue", "hold.a", "--queue", "hold.b")
        assert (done.returncode, done.stdout) == (OK, "hold.a  paused\nhold.b  paused\n"), done
        assert shared.cli("resume", "--queue", "hold.a", "--queue", "hold.b").returncode == OK

    @pytest.mark.parametrize("verb", ["pause", "resume"])
    def test_a_script_has_to_say_yes_and_what_it_means(self, shared, verb):
        for args, words in [
            (["--label", "a=b"], "--yes"),
            (["--all"], "--yes"),
            (["--label", "a=b", NOBODY], "give either"),
            (["--queue", "a", NOBODY], "give either"),
            (["--queue", "a", "--queue", "b", "--name", "x"], "given once"),
            ([], "filters as of rota list"),
        ]:
            done = shared.cli(verb, *args)
            assert (done.returncode, done.stdout) == (USAGE, "") and words in done.stderr, done


def test_tail_of_one_queue(shared, target):
    with shared.cli_begun("tail", "--queue", "cli.tail", "--count", "3", "-o", "jsonl") as tail:
        assert json.loads(tail.stdout.readline())["type"] == "ready"
        submit(shared, target.url("/ok/other"), "--queue", "cli.other")
        task_id = submit(shared, target.url("/ok/tail"), "--queue", "cli.tail")
        told = [json.loads(line) for line in tail.stdout]
        assert tail.wait(60) == OK
    assert [(event["type"], event["task_id"]) for event in told] == [(kind, task_id) for kind in ["submitted", "started", "success"]]


def test_get_shows_what_is_sent_and_what_came_back(shared, target):
    task_id = submit(shared, target.url("/status/503"), "--retry", "1", "--retry-delay", "1ms", "--header", "X-One: 1",
                     "--header", "X-Two: \u202eb", "--body", "line\n\x1b[2J" + "x" * 400)
    shared.api.finished(task_id)
    lines = shared.cli("get", task_id).stdout.splitlines()
    assert lines[2:4] == ["headers   X-One: 1", "          X-Two: \\u202eb"]
    assert lines[4].startswith("body      line\\n\\x1b[2Jxxx") and lines[4].endswith("… (more with -o json)")
    table = lines[[line.split()[:1] for line in lines].index(["#"]) :]
    assert [row.split()[:3] for row in table[1:]] == [["1", "failed", "503"], ["2", "failed", "503"]]


class TestList:
    def test_the_jobs_of_a_task(self, shared, target):
        task_id = submit(shared, target.url("/ok/jobs"))
        shared.api.finished(task_id)
        lines = shared.cli("list", "--task", task_id).stdout.splitlines()
        assert lines[0].split()[:2] == ["job", "state"]
        assert lines[1].split()[:2] == [job_of(task_id), "success"]
        assert [job["id"] for job in json.loads(shared.cli("list", "--task", task_id, "-o", "json").stdout)] == [job_of(task_id)]

    def test_queues_as_lines(self, shared, target):
        submit(shared, target.url("/ok/lines"), "--queue", "cli.lines")
        queues = [json.loads(line) for line in shared.cli("list", "--queues", "--all", "-o", "jsonl").stdout.splitlines()]
        assert "cli.lines" in [queue["queue"] for queue in queues]


class TestStats:
    def test_text_names_every_state(self, shared):
        text = shared.cli("stats").stdout
        assert all(re.search(rf"^  {state} +\d+$", text, re.M) for state in ["delayed", "ready", "success", "buried"]), text
        assert re.search(r"^pending +\d+$", text, re.M)

    def test_json_is_the_servers(self, shared):
        assert json.loads(shared.cli("stats", "-o", "json").stdout).keys() >= {"states", "pending"}


def test_get_takes_several_ids(shared, target):
    ids = [submit(shared, target.url("/ok/several"), "--in", "1h") for _ in range(2)]
    done = shared.cli("get", *ids, "-o", "jsonl")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ids
    done = shared.cli("get", NOBODY, *ids)
    assert done.returncode == SERVER_SAYS_NO and all(task_id in done.stdout for task_id in ids)


def test_labels_and_long_durations_arrive(shared, target):
    task_id = submit(shared, target.url("/ok/labels"), "--in", "1h30m", "--label", "team=ops", "--label", "a=b=c")
    task = shared.api.task(task_id)
    assert task["labels"] == {"team": "ops", "a": "b=c"}
    assert re.search(r"planned .*\(in 1h (29|30)m\)", shared.cli("get", task_id).stdout)


def test_waiting_on_a_terminal_shows_the_retries(shared, target):
    code, written = run_on_terminal("submit", target.url("/status/503"), "--retry", "1", "--wait", server=shared.url, columns=100)
    assert code == JOB_FAILED
    assert "try 2 of 2" in written and "last: HTTP 503" in written


@pytest.mark.parametrize(
    "args",
    [
        ["list", "--limit", "0"],
        ["list", "--limit", "x"],
        ["list", "--limit", "5", "--all"],
        ["list", "--jobs", "--queues"],
        ["list", "--task", "j0000000000001"],
        ["list", "--label", "x"],
        ["list", "tasks"],
        ["run"],
        ["retry", "nonsense"],
        ["pause"],
        ["pause", NOBODY, "--queue", "q"],
        ["pause", "j0000000000001"],
        ["delete", "j0000000000001"],
        ["cancel", NOBODY, "--queue", "q"],
        ["cancel", "--queue", "q", "--all", "--yes"],
        ["delete", "--queue", "q", "--running", "--yes"],
        ["delete", "--queues"],
        ["delete", "--queues", "q", "--queue", "q"],
        ["delete", "--queues", "q", "--yes"],
        ["delete", "--queues", "--all"],
        ["run", "--label", "x", "--yes"],
        ["retry", "b0000000000001"],
        ["explain"],
        ["explain", "nonsense"],
        ["tail", "--count", "0"],
        ["backup"],
        ["backup", "-"],
        ["backup", "/"],
        ["completion"],
        ["completion", "tcsh"],
        ["help", "frobnicate"],
    ],
    ids=" ".join,
)
def test_wrong_usage(args):
    done = run_cli(*args, server="http://127.0.0.1:9")
    assert done.returncode == USAGE, done
    assert done.stdout == "" and done.stderr


@pytest.mark.parametrize("wrong, right", [
    ("cancle", "cancel"), ("ls", "list"), ("status", "get"), ("explian", "explain"), ("remove", "delete"), ("jobs", "list --jobs"),
    ("rerun", "retry"), ("unhold", "resume"), ("schedule", "submit"), ("edit", "update"), ("reschedule", "update"), ("await", "wait")])
def test_a_verb_that_was_meant_is_named(wrong, right):
    done = run_cli(wrong)
    assert done.returncode == USAGE and f"did you mean {right}?" in done.stderr


@pytest.mark.parametrize("verb, wrong, right", [("submit", "--data", "--body"), ("submit", "-d", "--body"), ("submit", "-H", "--header"),
                                                ("list", "-n", "--limit"), ("delete", "--force", "--yes"), ("serve", "--port", "--listen")])
def test_an_option_of_other_tools_is_known(verb, wrong, right):
    done = run_cli(verb, wrong, "x")
    assert done.returncode == USAGE and f"did you mean {right}?" in done.stderr


@pytest.mark.parametrize("form", ["{host}:{port}", "{host}:{port}/", "localhost:{port}", "http://{host}:{port}/"])
def test_a_server_may_be_named_without_its_scheme(form, shared):
    where = form.format(host="127.0.0.1", port=shared.port)
    assert run_cli("stats", "--server", where).returncode == OK
    assert run_cli("stats", env={"ROTA_SERVER": where}).returncode == OK


@pytest.mark.parametrize("verb", [["list"], ["run", NOBODY], ["retry", NOBODY], ["pause", NOBODY], ["resume", "--queue", "q"],
                                  ["delete", NOBODY], ["explain", NOBODY], ["stats"], ["tail"]], ids=" ".join)
def test_the_server_is_not_there(verb):
    done = run_cli(*verb, server="http://127.0.0.1:9")
    assert done.returncode == NOT_REACHED, done
    assert done.stdout == "" and "rota serve" in done.stderr
