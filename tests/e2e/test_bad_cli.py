"""The command line, used wrongly or against something that is not rota: an exit code, words on stderr, nothing on stdout."""

import contextlib
import os
import re
import socket
import subprocess
import threading

import pytest

from support.rota import binary, run_cli

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4
NOBODY = "t0000000000001"
U = "http://127.0.0.1:9/never-called"


# The words, and something of what stderr says.
WRONG_USAGE = [
    ([], "rota"),
    (["frobnicate"], "no verb"),
    (["sumbit", U], "did you mean submit"),
    (["Submit", U], "no verb"),
    (["--frobnicate"], "no verb"),
    ([""], "no verb"),
    (["submit"], "missing"),
    (["submit", U, "--frobnicate"], "no option"),
    (["submit", U, "--priorit", "5"], "did you mean --priority"),
    (["submit", U, "-x"], "no option"),
    (["submit", U, "--priority"], "needs a value"),
    (["submit", U, "--name", "--key", "x"], "needs a value"),
    (["submit", U, "--wait=yes"], "takes no value"),
    (["submit", U, "--priority", "high"], "whole number"),
    (["submit", U, "--priority", "5.0"], "whole number"),
    (["submit", U, "--priority", " 5"], "whole number"),
    (["submit", U, "--retry", "99999999999999999999"], "whole number"),
    (["submit", U, "--key", "a", "--key", "b"], "twice"),
    (["submit", U, "--in", "1h", "--at", "2031-01-01T00:00:00Z"], "both say when"),
    (["submit", U, "http://y/"], "too many"),
    (["submit", U, "--header", "no colon"], "Name: value"),
    (["submit", U, "--header", ": empty"], "Name: value"),
    (["submit", U, "--header", "X: 1", "--header", "x: 2"], "twice"),
    (["submit", U, "--body", "@/no/such/file"], "--body @/no/such/file: the file cannot be read: No such file"),
    (["submit", U, "--body", "@"], "the name of a file behind the @"),
    (["submit", U, "--body", "@/"], "cannot be read"),
    (["submit", U, "--body", "@/dev/zero"], "1 MiB"),
    (["submit", U, "--body", "@/dev/urandom"], ""),
    (["submit", U, "--name", b"\xff"], "not UTF-8"),
    (["submit", b"http://x/\xc3"], "not UTF-8"),
    (["submit", U, "--server", "nonsense"], "http://HOST:PORT"),
    (["submit", U, "--server", "ftp://x/"], "http://"),
    (["submit", U, "--server", "http://x/?y"], "plain URL"),
    (["submit", U, "--server", "http://u:p@x/"], "user or password"),
    (["submit", U, "-o", "yaml"], "text, json or jsonl"),
    (["get"], "missing"),
    (["get", "-o", "yaml", NOBODY], "text, json or jsonl"),
    (["cancel"], "say which"),
    (["pause"], "rota pause ID..., or rota pause --queue NAME"),
    (["resume"], "rota resume ID..., or rota resume --queue NAME"),
    (["pause", "mail"], "rota pause --queue mail"),
    (["cancel", "--state", "ready", NOBODY], ""),
    (["list", "--limit", "0"], ""),
    (["completion", "tcsh"], ""),
    (["serve", "--frobnicate"], "no option"),
    (["serve", "--listen", "nonsense"], "nonsense"),
    (["serve", "--listen", "127.0.0.1:0", "--role", "king"], "king"),
    (["serve", "--listen", "127.0.0.1:0", "--store", "nonsense"], "nonsense"),
    (["serve", "--data", "x", "--store", "memory:"], "exclude"),
    (["version", "too", "many"], "too many"),
]


@pytest.mark.parametrize("args, words", WRONG_USAGE, ids=lambda value: repr(value)[:60] if isinstance(value, list) else "")
def test_wrong_usage_is_2_and_says_what_is_right(unharmed, args, words):
    done = subprocess.run([binary(), *args], capture_output=True, timeout=60, env={**os.environ, "ROTA_SERVER": unharmed.url})
    assert done.returncode == USAGE, done
    assert done.stdout == b"" and done.stderr
    assert words in done.stderr.decode(errors="replace"), done


@pytest.mark.parametrize(
    "args, words",
    [
        (["--listen", "127.0.0.1:99999", "--store", "memory:"], "99999"),
        (["--listen", "127.0.0.1:0", "--data", "/proc/nowhere"], "/proc/nowhere"),
        (["--listen", "127.0.0.1:0", "--data", "/etc/passwd"], "/etc/passwd"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_server_that_cannot_start_says_why(args, words):
    done = run_cli("serve", *args, timeout=60)
    assert 0 < done.returncode < 128 and words in done.stderr, done


def test_a_second_server_on_the_same_address_says_why(tried):
    where = "%s:%d" % tried.where()
    done = run_cli("serve", "--listen", where, "--store", "memory:", timeout=60)
    assert 0 < done.returncode < 128 and where in done.stderr and "in use" in done.stderr, done


def test_a_server_that_finds_its_address_taken_leaves_nothing_behind(tried, tmp_path):
    where = "%s:%d" % tried.where()
    done = run_cli("serve", "--listen", where, "--data", str(tmp_path / "new"), timeout=60)
    assert 0 < done.returncode < 128 and "in use" in done.stderr, done
    assert not (tmp_path / "new").exists()


def test_a_huge_file_is_not_taken_in(unharmed, tmp_path):
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)
    done = unharmed.cli("submit", U, "--body", f"@{tmp_path}/huge")
    assert done.returncode == USAGE and "1 MiB" in done.stderr, done


def test_a_file_that_makes_the_task_too_large_is_the_servers_to_refuse(unharmed, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (1 << 20))
    done = unharmed.cli("submit", U, "--body", f"@{tmp_path}/large")
    assert done.returncode == SERVER_SAYS_NO and "too_large" in done.stderr, done


@pytest.mark.parametrize("key", ["two words", "a\nb", "ü"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(unharmed, key):
    done = unharmed.cli("get", NOBODY, env={"ROTA_API_KEY": key})
    assert done.returncode == USAGE and key not in done.stderr, done


@pytest.mark.parametrize("verb", ["get", "cancel"])
@pytest.mark.parametrize("which", ["nonsense", "../../healthz", "", "t", "t" * 200, "t0000\n0000001", "%74", "x0000000000001"])
def test_an_id_that_is_none_is_not_asked_for(unharmed, verb, which):
    done = unharmed.cli(verb, which)
    assert done.returncode in (USAGE, SERVER_SAYS_NO) and done.stdout == "" and done.stderr, done


REFUSED = [("--priority", "10", "/priority"), ("--in", "soon", "/in"), ("--header", "Host: x", "/headers/Host")]


@pytest.mark.parametrize("option, value, field", REFUSED)
def test_what_the_server_refuses_is_3_and_names_the_field(unharmed, option, value, field):
    done = unharmed.cli("submit", U, option, value)
    assert done.returncode == SERVER_SAYS_NO and done.stdout == "", done
    assert field in done.stderr


@contextlib.contextmanager
def impostor(answer):
    """Something else that listens: it answers anything with these bytes and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def http(body, status="200 OK", type_="application/json"):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {type_}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


WRONG_WITHIN = b'{"id": {}, "job": {"attempts": {"a": 1}, "delays": [], "state": 7, "scheduled_at": "soon"}}'
HUGE = b'{"id": "t1", "priority": 1e308, "job": {"status": -99999999999999999999, "delays": {"queue": 1e300}}}'
EVIL = rb'"\u001b]0;owned\u0007\u001b[2J\u202e\u009b31m"'
EVIL_TASK = b'{"id": %s, "name": %s, "url": %s, "job": {"state": %s, "response": %s}}' % ((EVIL,) * 5)
EVIL_PROBLEM = b'{"title": %s, "detail": %s, "code": %s, "field": %s}' % ((EVIL,) * 4)
IMPOSTORS = {
    "nothing": (b"", (NOT_REACHED,)),
    "not HTTP": (b"220 smtp ready\r\n", (NOT_REACHED,)),
    "a cut answer": (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", (NOT_REACHED,)),
    "a page": (http(b"<html>hello</html>", type_="text/html"), (NOT_REACHED,)),
    "an array": (http(b"[]"), (NOT_REACHED,)),
    "no JSON": (http(b'{"id": '), (NOT_REACHED,)),
    "NUL": (http(b"\x00" * 100), (NOT_REACHED,)),
    "deep JSON": (http(b"[" * 100_000), (NOT_REACHED,)),
    "an empty object": (http(b"{}"), (OK, NOT_REACHED)),
    "wrong types": (http(b'{"id": 7, "state": [], "job": "x", "retry": 3, "runs": null}'), (OK, NOT_REACHED)),
    "wrong types within": (http(WRONG_WITHIN), (OK, NOT_REACHED)),
    "escape sequences": (http(EVIL_TASK), (OK, NOT_REACHED)),
    "a refusal with escape sequences": (http(EVIL_PROBLEM, "422 \x1b[2J"), (SERVER_SAYS_NO,)),
    "a refusal as raw bytes": (http(b"\x1b[2J\xff\x07", "500 Oops"), (SERVER_SAYS_NO,)),
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n", (SERVER_SAYS_NO,)),
    "huge numbers": (http(HUGE), (OK, NOT_REACHED)),
}
ASKED = [f"get {NOBODY}", f"get -o json {NOBODY}", f"submit {U}", f"submit {U} -o jsonl", f"cancel {NOBODY}"]


@pytest.mark.parametrize("answer, codes", IMPOSTORS.values(), ids=IMPOSTORS.keys())
@pytest.mark.parametrize("args", ASKED)
def test_whatever_answers_the_client_ends_orderly_and_shows_only_text(args, answer, codes):
    with impostor(answer) as server:
        done = subprocess.run([binary(), *args.split(), "--server", server], capture_output=True, timeout=90)
    assert done.returncode in codes, done
    shown = (done.stdout + done.stderr).decode()  # it must be UTF-8
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown), repr(shown)


@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
def test_a_closed_or_full_stdout_is_not_a_crash(tried, output):
    task_id = tried.api.submit(U, **{"in": "1h"})["id"]

    def get(where):
        command = f'"{binary()}" get {task_id} --server {tried.url} -o {output} {where}'
        return subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)

    assert get(">&-").returncode == OK, "who closes it does not want it"
    full = get(">/dev/full")
    assert OK < full.returncode < 128 and b"cannot be written" in full.stderr, full


def test_a_reader_that_left_ends_it_quietly(tried):
    task_id = tried.api.submit(U, name="x" * 200, **{"in": "1h"})["id"]
    command = f'("{binary()}" get {task_id} --server {tried.url} -o json; echo $? >&2) | true'
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, text=True)
    assert int(done.stderr.split()[-1]) < 128 + 20, done
