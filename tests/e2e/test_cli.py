"""The command line: data on stdout, talk on stderr, and an exit code that scripts can hold on to."""

import json
import pathlib
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from support.rota import DIES_WITH_US, run_cli
from support.times import to_ms
from support.wait import now_ms

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4
TASK_ID = re.compile(r"\bt[0-9a-z]{13}\b")
NOBODY = "t0000000000001"


def submit(rota, *args):
    done = rota.cli("submit", *args)
    assert done.returncode == OK, done
    return TASK_ID.search(done.stdout).group(0)


def test_version_is_said():
    done = run_cli("version")
    assert done.returncode == OK
    assert re.search(r"\d+\.\d+\.\d+", done.stdout)


def test_version_as_json():
    done = run_cli("version", "-o", "json")
    assert done.returncode == OK
    assert re.match(r"\d+\.\d+\.\d+", json.loads(done.stdout)["version"])


@pytest.mark.parametrize("args", [["--help"], ["help"], ["submit", "--help"]])
def test_help_is_help(args):
    done = run_cli(*args)
    assert done.returncode in (OK, USAGE) if args == ["help"] else done.returncode == OK
    assert "submit" in done.stdout + done.stderr


def test_the_line_that_serve_prints_works_when_pasted(shared):
    line = re.search(r"curl .*", shared.log_text()).group(0)
    done = subprocess.run(["sh", "-c", line + " -s"], capture_output=True, text=True, timeout=60)
    task = json.loads(done.stdout)
    assert "id" in task, done.stdout
    assert shared.api.finished(task["id"])["state"] == "success"


class TestSubmit:
    def test_prints_the_id(self, shared, target):
        task_id = submit(shared, target.url("/ok/cli"))
        assert shared.api.finished(task_id)["state"] == "success"

    def test_json_is_the_task(self, shared, target):
        done = shared.cli("submit", target.url("/ok/json"), "-o", "json")
        assert done.returncode == OK
        task = json.loads(done.stdout)
        assert TASK_ID.fullmatch(task["id"])
        assert task["url"] == target.url("/ok/json")

    def test_all_options_arrive(self, shared, target):
        task_id = submit(
            shared,
            target.url("/echo/options"),
            *["--method", "PUT", "--header", "X-A: b c", "--header", "X-D: e", "--body", "the body"],
            *["--priority", "8", "--queue", "cli", "--name", "a name", "--retry", "1", "--timeout", "7s", "--key", "cli-key"],
        )
        task = shared.api.task(task_id)
        assert (task["method"], task["priority"], task["queue"], task["name"]) == ("PUT", 8, "cli", "a name")
        assert (task["retry"]["max"], task["timeout"], task["key"]) == (1, "7s", "cli-key")
        (call,) = target.wait_calls(1)
        assert (call.method, call.header("X-A"), call.header("X-D"), call.body) == ("PUT", "b c", "e", b"the body")

    def test_a_body_may_come_from_a_file(self, shared, target, tmp_path):
        (tmp_path / "body").write_text('line "one"\nline two ü\n')
        submit(shared, target.url("/ok/file"), "--body", f"@{tmp_path}/body")
        assert target.wait_calls(1)[0].body == (tmp_path / "body").read_bytes()

    def test_in_and_at(self, shared, target):
        before = now_ms()
        task_id = submit(shared, target.url("/ok/in"), "--in", "1h")
        assert to_ms(shared.api.task(task_id)["scheduled_at"]) >= before + 3_600_000
        task_id = submit(shared, target.url("/ok/at"), "--at", "2031-01-02T03:04:05Z")
        assert shared.api.task(task_id)["scheduled_at"] == "2031-01-02T03:04:05.000Z"

    def test_wait_for_success(self, shared, target):
        done = shared.cli("submit", target.url("/slow/200"), "--wait")
        assert done.returncode == OK, done
        assert len(target.calls()) == 1

    def test_wait_for_success_as_json_is_the_end(self, shared, target):
        done = shared.cli("submit", target.url("/ok/end"), "--wait", "-o", "json")
        assert done.returncode == OK
        assert "success" in json.dumps(json.loads(done.stdout))

    def test_wait_for_a_failure(self, shared, target):
        done = shared.cli("submit", target.url("/status/500"), "--retry", "0", "--wait")
        assert done.returncode == JOB_FAILED, done
        assert "500" in done.stdout + done.stderr

    def test_the_server_says_no(self, shared):
        done = shared.cli("submit", "ftp://example.com/")
        assert done.returncode == SERVER_SAYS_NO, done
        assert done.stdout == ""
        assert "url" in done.stderr

    def test_a_key_used_for_another_task(self, shared, target):
        submit(shared, target.url("/ok/a"), "--key", "cli-conflict", "--in", "1h")
        assert shared.cli("submit", target.url("/ok/b"), "--key", "cli-conflict").returncode == SERVER_SAYS_NO

    def test_the_server_is_not_there(self):
        done = run_cli("submit", "http://127.0.0.1:9/", server="http://127.0.0.1:9")
        assert done.returncode == NOT_REACHED, done
        assert done.stdout == "" and done.stderr

    def test_the_server_option_counts_more_than_the_variable(self, shared, target):
        done = run_cli("submit", target.url("/ok/option"), "--server", shared.url, server="http://127.0.0.1:9")
        assert done.returncode == OK, done


class TestGetAndCancel:
    def test_get_a_task(self, shared, target):
        task_id = submit(shared, target.url("/ok/get"), "--in", "1h", "--name", "to get")
        done = shared.cli("get", task_id)
        assert done.returncode == OK
        assert task_id in done.stdout and "to get" in done.stdout
        assert json.loads(shared.cli("get", task_id, "-o", "json").stdout)["id"] == task_id

    def test_get_a_job(self, shared, target):
        task_id = submit(shared, target.url("/ok/job"))
        job_id = shared.api.finished(task_id)["id"]
        job = json.loads(shared.cli("get", job_id, "-o", "json").stdout)
        assert (job["id"], job["state"]) == (job_id, "success")

    def test_cancel_several(self, shared, target):
        ids = [submit(shared, target.url("/ok/cancel"), "--in", "1h") for _ in range(3)]
        done = shared.cli("cancel", *ids)
        assert done.returncode == OK, done
        assert [shared.api.task(task_id)["state"] for task_id in ids] == ["cancelled"] * 3

    @pytest.mark.parametrize("verb", ["get", "cancel"])
    def test_what_is_not_there(self, shared, verb):
        done = shared.cli(verb, NOBODY)
        assert done.returncode == SERVER_SAYS_NO, done
        assert done.stdout == ""

    @pytest.mark.parametrize("verb", ["get", "cancel"])
    def test_the_server_is_not_there(self, verb):
        assert run_cli(verb, NOBODY, server="http://127.0.0.1:9").returncode == NOT_REACHED


def test_listening_to_the_world_without_keys_is_refused(tmp_path):
    done = run_cli("serve", "--listen", "0.0.0.0:0", "--data", str(tmp_path / "data"), timeout=60)
    assert done.returncode != OK
    assert "key" in done.stderr.lower()


def test_escape_sequences_of_the_server_do_not_reach_the_terminal(shared, target):
    task = shared.api.submit(target.url("/ok/escape"), name="\x1b[31mred\x1b]0;title\x07", **{"in": "1h"})
    done = shared.cli("get", task["id"])
    assert done.returncode == OK
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr


class TestTargetOfTheGuide:
    """docs/target.py, which newcomers call: what goes wrong is said in words, not in tracebacks."""

    SCRIPT = str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "target.py")

    @pytest.fixture
    def told(self):
        process = subprocess.Popen([*DIES_WITH_US, sys.executable, self.SCRIPT, "0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.url = process.stdout.readline().split()[-1]
        yield process.stdout
        process.kill()
        process.communicate()

    def call_later(self, body):
        request = urllib.request.Request(f"{self.url}/later/1", body, {"Rota-Job-Id": "j0000000000001", "Rota-Token": "x"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status

    def test_a_taken_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            done = subprocess.run([sys.executable, self.SCRIPT, port], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and f"cannot listen on port {port}" in done.stderr and "Traceback" not in done.stderr

    def test_what_rota_refuses(self, told, shared):
        assert self.call_later(json.dumps({"rota": shared.url}).encode()) == 202
        assert sorted(line.split(" ")[0] for line in [told.readline(), told.readline()]) == ["POST", "job"]

    def test_a_rota_that_is_away_or_not_named(self, told):
        assert self.call_later(b'{"rota": "http://127.0.0.1:9"}') == 202
        lines = [told.readline(), told.readline()]
        assert any("was not completed: no rota at http://127.0.0.1:9" in line for line in lines), lines
        with pytest.raises(urllib.error.HTTPError) as refusal:
            self.call_later(b"hello")
        assert refusal.value.code == 400 and b"where rota is" in refusal.value.read()
