"""The target is called as the task says, and whatever it does is recorded under a name of its own."""

import socket
import threading

import pytest

from support.client import first_job_id
from support.times import to_ms

NO_RETRY = {"max": 0}
AT_ONCE = {"max": 2, "delay": "0s", "backoff": "fixed", "jitter": False}


def run(api, url, **fields):
    return api.finished(api.submit(url, **fields)["id"])


class TestTheCall:
    @pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
    def test_the_method_is_used(self, shared_api, target, method):
        assert run(shared_api, target.url("/ok/method"), method=method)["state"] == "success"
        assert [call.method for call in target.calls()] == [method]

    def test_headers_are_sent(self, shared_api, target):
        run(shared_api, target.url("/ok/headers"), headers={"X-One": "1", "Authorization": "Bearer t", "X-Utf8": "grün"})
        (call,) = target.calls()
        assert call.header("X-One") == "1"
        assert call.header("Authorization") == "Bearer t"
        assert call.header("X-Utf8").encode("latin-1").decode() == "grün"

    @pytest.mark.parametrize(
        "raw",
        [
            '{"n": 12345678901234567890123, "x": 1.0, "y":1e2,  "s" : "\\u00fc" }',
            "[1 ,2,\t3]",
            "12345678901234567890",
            "0.10",
            "true",
            '{"deep": {"er": [{}]}}',
        ],
    )
    def test_a_json_body_is_sent_as_the_bytes_that_came(self, shared_api, target, raw):
        text = '{"url": "%s", "body": %s}' % (target.url("/echo/raw"), raw)
        answer = shared_api.post("/v1/tasks", text)
        assert answer.status == 201, answer
        job = shared_api.finished(answer.json["id"])
        (call,) = target.calls()
        assert call.body == raw.encode()
        assert call.header("Content-Type").startswith("application/json")
        assert job["response"] == raw

    def test_a_string_body_is_sent_as_its_text(self, shared_api, target):
        run(shared_api, target.url("/ok/text"), body='a "quoted" line\nand ü', headers={"Content-Type": "text/plain"})
        (call,) = target.calls()
        assert call.body == 'a "quoted" line\nand ü'.encode()
        assert call.header("Content-Type") == "text/plain"

    def test_a_content_type_that_was_given_is_kept(self, shared_api, target):
        run(shared_api, target.url("/ok/type"), body={"a": 1}, headers={"content-type": "application/cloudevents+json"})
        (call,) = target.calls()
        types = [value for name, value in call.headers if name.lower() == "content-type"]
        assert types == ["application/cloudevents+json"]

    def test_a_large_body_arrives_whole(self, shared_api, target):
        body = "x" * 900_000
        assert run(shared_api, target.url("/ok/large"), body=body)["state"] == "success"
        assert target.calls()[0].body == body.encode()

    def test_no_body_means_no_body(self, shared_api, target):
        run(shared_api, target.url("/ok/none"))
        (call,) = target.calls()
        assert call.body == b""

    def test_path_and_query_are_sent_as_they_are(self, shared_api, target):
        run(shared_api, target.url("/ok/a%20b/c;d?q=1&r=%2F+x"))
        assert target.calls()[0].path == "/ok/a%20b/c;d?q=1&r=%2F+x"

    def test_every_call_says_whose_it_is(self, shared_api, target):
        task = shared_api.submit(target.url("/fail/1/whose"), retry=AT_ONCE)
        job = shared_api.finished(task["id"])
        first, second = target.calls()
        for call in (first, second):
            assert call.header("Rota-Job-Id") == job["id"] == first_job_id(task["id"])
            assert call.header("Rota-Task-Id") == task["id"]
            assert call.header("Idempotency-Key") == job["id"]
            assert to_ms(call.header("Rota-Scheduled-At")) == to_ms(job["scheduled_at"])
        assert [first.attempt, second.attempt] == [1, 2]

    def test_a_traceparent_is_passed_on(self, shared_api, target):
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        run(shared_api, target.url("/ok/trace"), traceparent=parent)
        assert target.calls()[0].header("traceparent").split("-")[1] == parent.split("-")[1]


class TestTheAnswer:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_2xx_is_a_success(self, shared_api, target, status):
        job = run(shared_api, target.url(f"/status/{status}"), retry=NO_RETRY)
        assert (job["state"], job["status"]) == ("success", status)

    @pytest.mark.parametrize("status", [300, 400, 404, 500, 503])
    def test_anything_else_is_not(self, shared_api, target, status):
        job = run(shared_api, target.url(f"/status/{status}"), retry=NO_RETRY)
        assert (job["state"], job["status"]) == ("aborted", status)
        assert job["attempts"][-1]["outcome"] == "failed"
        assert job["attempts"][-1]["status"] == status

    def test_success_codes_say_otherwise(self, shared_api, target):
        codes = ["404", "5xx"]
        assert run(shared_api, target.url("/status/404"), retry=NO_RETRY, success_codes=codes)["state"] == "success"
        assert run(shared_api, target.url("/status/502"), retry=NO_RETRY, success_codes=codes)["state"] == "success"
        assert run(shared_api, target.url("/status/200"), retry=NO_RETRY, success_codes=codes)["state"] == "aborted"

    def test_redirects_are_answers_and_not_followed(self, shared_api, target):
        job = run(shared_api, target.url("/redirect/x"), retry=NO_RETRY)
        assert (job["state"], job["status"]) == ("aborted", 302)
        assert target.calls(path="/ok/redirected") == []

    def test_the_response_is_kept(self, shared_api, target):
        job = run(shared_api, target.url("/echo/kept"), body="grüße\n\"x\"")
        assert job["response"] == "grüße\n\"x\""
        assert job["response_truncated"] is False

    def test_a_long_response_is_cut_at_4_kib(self, shared_api, target):
        job = run(shared_api, target.url("/big/100000"))
        assert job["state"] == "success"
        assert job["response"] == ("0123456789abcdef" * 256)
        assert job["response_truncated"] is True

    def test_a_response_of_exactly_4_kib_is_whole(self, shared_api, target):
        job = run(shared_api, target.url("/big/4096"))
        assert len(job["response"]) == 4096
        assert job["response_truncated"] is False

    def test_a_response_that_is_not_text_can_be_shown(self, shared_api, target):
        job = run(shared_api, target.url("/echo/binary"), body="\x01\x1f and \x7f")
        assert job["state"] == "success"
        assert job["response"].startswith("\x01\x1f and")


# What the target does, and under which names it may be recorded.
FAULTS = [
    ("/hang", {"timeout"}),
    ("/drip", {"timeout"}),
    ("/reset", {"bad_response", "connect_error"}),
    ("/close", {"bad_response"}),
    ("/junk", {"bad_response"}),
    ("/short", {"bad_response"}),
]


def answer_early(server):
    peer, _ = server.accept()
    with peer:
        peer.recv(1000)
        peer.sendall(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Thread:
    """Runs beside what is in its block, and has ended with it."""

    def __init__(self, function):
        self.thread = threading.Thread(target=function, daemon=True)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.thread.join(timeout=60)


class TestFaults:
    """The total deadline holds, the slot is freed, the outcome has a name."""

    @pytest.mark.parametrize("path, names", FAULTS)
    def test_a_broken_target_gets_a_name(self, shared_api, target, path, names):
        job = run(shared_api, target.url(path), timeout="700ms", retry=NO_RETRY)
        assert job["state"] == "aborted"
        (attempt,) = job["attempts"]
        assert attempt["outcome"] in names
        assert attempt["reason"]
        assert len(target.calls(path=path)) == 1, "one attempt is one call"

    def test_nobody_listening_is_a_connect_error(self, shared_api):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # bound, so nobody else takes the port, but not listening
            job = run(shared_api, f"http://127.0.0.1:{closed.getsockname()[1]}/", retry=NO_RETRY, timeout="5s")
        assert job["state"] == "aborted"
        assert job["attempts"][-1]["outcome"] in ("connect_error", "refused")
        assert job["status"] is None

    def test_a_name_that_does_not_exist_is_a_dns_error(self, shared_api):
        job = run(shared_api, "http://no-such-host.invalid/", retry=NO_RETRY, timeout="20s")
        assert job["state"] == "aborted"
        assert job["attempts"][-1]["outcome"] in ("dns_error", "timeout")

    def test_plain_text_where_tls_belongs_is_a_tls_error(self, shared_api, target):
        job = run(shared_api, f"https://127.0.0.1:{target.port}/ok", retry=NO_RETRY, timeout="5s")
        assert job["state"] == "aborted"
        assert job["attempts"][-1]["outcome"] == "tls_error"

    def test_an_answer_before_the_body_was_read_counts(self, shared_api):
        """The target closes with the body unread, so its kernel resets the connection; its answer came before."""
        with socket.create_server(("127.0.0.1", 0)) as server, Thread(lambda: answer_early(server)):
            url = f"http://127.0.0.1:{server.getsockname()[1]}/"
            job = run(shared_api, url, body="x" * 900_000, retry=NO_RETRY, timeout="20s")
        (attempt,) = job["attempts"]
        assert (attempt["outcome"], attempt["status"]) == ("failed", 413)

    def test_others_go_on_while_some_hang(self, shared_api, target):
        hanging = shared_api.submit_many([{"url": target.url("/hang"), "timeout": "60s", "queue": "hanging"} for _ in range(50)])
        target.wait_calls(50, path="/hang")
        assert run(shared_api, target.url("/ok/beside"))["state"] == "success"
        for task_id in hanging:
            assert shared_api.post(f"/v1/tasks/{task_id}/cancel").status == 200


class TestRetry:
    def test_a_failure_is_tried_again_and_each_try_is_recorded(self, shared_api, target):
        job = run(shared_api, target.url("/fail/2/503/again"), retry=AT_ONCE)
        assert job["state"] == "success"
        assert job["retry_count"] == 2
        assert [(a["number"], a["outcome"], a["status"]) for a in job["attempts"]] == [
            (1, "failed", 503),
            (2, "failed", 503),
            (3, "success", 200),
        ]
        assert [call.attempt for call in target.calls()] == [1, 2, 3]

    def test_when_no_try_is_left_the_job_is_aborted(self, shared_api, target):
        job = run(shared_api, target.url("/status/500"), retry=AT_ONCE)
        assert job["state"] == "aborted"
        assert len(job["attempts"]) == len(target.calls()) == 3

    def test_a_timeout_is_tried_again_too(self, shared_api, target):
        job = run(shared_api, target.url("/hang"), timeout="300ms", retry=dict(AT_ONCE, max=1))
        assert [attempt["outcome"] for attempt in job["attempts"]] == ["timeout", "timeout"]

    def test_a_fixed_delay_is_kept(self, shared_api, target):
        retry = {"max": 2, "delay": "400ms", "backoff": "fixed", "jitter": False}
        job = run(shared_api, target.url("/status/500/fixed"), retry=retry)
        assert all(gap >= 400 for gap in gaps(job))

    def test_an_exponential_delay_doubles_up_to_its_limit(self, shared_api, target):
        retry = {"max": 3, "delay": "200ms", "backoff": "exponential", "max_delay": "600ms", "jitter": False}
        job = run(shared_api, target.url("/status/500/exponential"), retry=retry)
        assert all(gap >= least for gap, least in zip(gaps(job), [200, 400, 600]))

    def test_jitter_takes_off_at_most_half(self, shared_api, target):
        retry = {"max": 3, "delay": "400ms", "backoff": "fixed", "jitter": True}
        job = run(shared_api, target.url("/status/500/jitter"), retry=retry)
        assert all(gap >= 200 for gap in gaps(job))

    def test_retry_after_is_obeyed(self, shared_api, target):
        job = run(shared_api, target.url("/retry-after/2"), retry=AT_ONCE)
        assert job["state"] == "success"
        first, second = target.calls()
        assert int(second.arrived) - int(first.ended) >= 2000  # rota counts whole milliseconds

    @pytest.mark.parametrize("absurd", ["99999999999999999999", "-5", "soon", ""])
    def test_an_absurd_retry_after_does_no_harm(self, shared_api, target, absurd):
        task = shared_api.submit(target.url(f"/retry-after/{absurd or '%20'}"), retry=AT_ONCE)
        target.wait_calls(1)
        job = shared_api.wait_state(first_job_id(task["id"]), "delayed", "success")
        if job["state"] == "delayed":
            assert job["attempts"][0]["outcome"] == "failed"
            assert shared_api.post(f"/v1/tasks/{task['id']}/cancel").status == 200

    def test_while_it_waits_for_its_retry_it_is_delayed(self, shared_api, target):
        task = shared_api.submit(target.url("/status/500/waiting"), retry={"max": 1, "delay": "1h"})
        job = shared_api.wait_state(first_job_id(task["id"]), "delayed")
        assert job["attempts"][0]["outcome"] == "failed"
        assert shared_api.post(f"/v1/tasks/{task['id']}/cancel").status == 200


def gaps(job):
    """Milliseconds between the end of each attempt and the beginning of the next."""
    attempts = job["attempts"]
    return [to_ms(after["started_at"]) - to_ms(before["completed_at"]) for before, after in zip(attempts, attempts[1:])]


def test_a_target_that_comes_back_gets_its_jobs(shared_api, target):
    ids = shared_api.submit_many([{"url": target.url(f"/fail/1/back/{i}"), "retry": AT_ONCE} for i in range(100)])
    assert {shared_api.finished(task_id)["state"] for task_id in ids} == {"success"}
    assert len(target.calls(path="/fail/1/back")) == 200
