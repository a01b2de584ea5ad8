"""Bad requests: never a 5xx, never half a write; each refusal has its status, a code, and a field where there is one."""

import json
import socket

import pytest

from support.client import raw_exchange
from support.wait import wait_until

URL = "http://127.0.0.1:9/never-called"


def assert_problem(answer, status, code=None, field=None):
    """`field` is the beginning of the JSON pointer."""
    statuses = status if isinstance(status, tuple) else (status,)
    assert answer.status in statuses, answer
    assert answer.type == "application/problem+json", answer.headers.items()
    problem = answer.json
    assert problem["status"] == answer.status
    for name in ("type", "title", "detail", "code"):
        assert isinstance(problem[name], str) and problem[name], name
    assert problem["request_id"]
    if code:
        assert problem["code"] in (code if isinstance(code, tuple) else (code,)), problem
    if field:
        assert problem["field"].startswith(field), problem
    return problem


NOT_JSON = {
    "empty": b"",
    "truncated": b'{"url": "http://x/"',
    "trailing bytes": b'{"url": "http://x/"} x',
    "two values": b'{"url": "http://x/"}{"url": "http://x/"}',
    "not json at all": b"url=http://x/",
    "single quotes": b"{'url': 'http://x/'}",
    "trailing comma": b'{"url": "http://x/",}',
    "a comment": b'{"url": "http://x/"} // hello',
    "NaN": b'{"url": "http://x/", "body": NaN}',
    "a leading zero": b'{"url": "http://x/", "priority": 05}',
    "a key twice": b'{"url": "http://x/", "url": "http://y/"}',
    "a key twice, escaped": b'{"url": "http://x/", "\\u0075rl": "http://y/"}',
    "a key twice, deep": b'{"url": "http://x/", "body": {"a": {"b": 1, "b": 2}}}',
    "too deep": b'{"url": "http://x/", "body": ' + b"[" * 40 + b"]" * 40 + b"}",
    "very deep": b"[" * 100_000,
    "a number too large": b'{"url": "http://x/", "body": 1e999}',
    "bad UTF-8": b'{"url": "http://x/", "name": "\xff\xfe"}',
    "overlong UTF-8": b'{"url": "http://x/", "name": "\xc0\xaf"}',
    "a lone surrogate": b'{"url": "http://x/", "name": "\\ud800"}',
    "a control character": b'{"url": "http://x/", "name": "a\x01"}',
    "a NUL byte": b'{"url": "http://x/", "name": "a\x00b"}',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_json_is_400(shared_api, body):
    assert_problem(shared_api.post("/v1/tasks", body), 400, "invalid_json")


def test_an_escaped_nul_is_refused(shared_api):
    assert_problem(shared_api.post("/v1/tasks", '{"url": "%s", "name": "a\\u0000b"}' % URL), (400, 422))


@pytest.mark.parametrize("body", ["17", '"text"', "null", "true"])
def test_what_is_not_an_object_is_refused(shared_api, body):
    assert_problem(shared_api.post("/v1/tasks", body), (400, 422))


# What is wrong with a task: fields beside (or instead of) the url, the field that is named.
WRONG = [
    ({"url": None}, "/url"),
    ({"url": 5}, "/url"),
    ({"url": ""}, "/url"),
    ({"url": "example.com"}, "/url"),
    ({"url": "ftp://example.com/"}, "/url"),
    ({"url": "file:///etc/passwd"}, "/url"),
    ({"url": "http://"}, "/url"),
    ({"url": "http://user:secret@example.com/"}, "/url"),
    ({"url": "http://example.com:99999/"}, "/url"),
    ({"url": "http://exa mple.com/"}, "/url"),
    ({"url": "http://example.com/a\nb"}, "/url"),
    ({"url": "http://example.com/" + "x" * 9000}, "/url"),
    ({"method": "BREW"}, "/method"),
    ({"method": "post"}, "/method"),
    ({"method": 1}, "/method"),
    ({"headers": "X: y"}, "/headers"),
    ({"headers": {"X": 1}}, "/headers"),
    ({"headers": {"X": "a\r\nY: b"}}, "/headers"),
    ({"headers": {"X\r\nY": "a"}}, "/headers"),
    ({"headers": {"": "a"}}, "/headers"),
    ({"headers": {"X Y": "a"}}, "/headers"),
    ({"headers": {"Host": "evil"}}, "/headers"),
    ({"headers": {"content-length": "5"}}, "/headers"),
    ({"headers": {"Transfer-Encoding": "chunked"}}, "/headers"),
    ({"headers": {"Rota-Job-Id": "forged"}}, "/headers"),
    ({"headers": {f"X-{i}": "v" for i in range(65)}}, "/headers"),
    ({"headers": {"X": "v" * 9000}}, "/headers"),
    ({"at": "tomorrow"}, "/at"),
    ({"at": "2026-01-01T00:00:00"}, "/at"),
    ({"at": "2026-02-30T00:00:00Z"}, "/at"),
    ({"at": "2026-01-01T24:01:00Z"}, "/at"),
    ({"at": "2026-01-01"}, "/at"),
    ({"at": 1767225600}, "/at"),
    ({"at": "9999-01-01T00:00:00Z"}, "/at"),
    ({"in": "soon"}, "/in"),
    ({"in": "-5s"}, "/in"),
    ({"in": 5}, "/in"),
    ({"in": "5"}, "/in"),
    ({"in": "4000d"}, "/in"),
    ({"in": "99999999999999999999s"}, "/in"),
    ({"in": "5s", "at": "2031-01-01T00:00:00Z"}, "/"),
    ({"not_after": "never"}, "/not_after"),
    ({"not_after": "2020-01-01T00:00:00Z", "at": "2031-01-01T00:00:00Z"}, "/not_after"),
    ({"priority": 10}, "/priority"),
    ({"priority": -1}, "/priority"),
    ({"priority": 2.5}, "/priority"),
    ({"priority": "5"}, "/priority"),
    ({"priority": 1e300}, "/priority"),
    ({"queue": ""}, "/queue"),
    ({"queue": "a b"}, "/queue"),
    ({"queue": "a/b"}, "/queue"),
    ({"queue": "q" * 65}, "/queue"),
    ({"queue": "grün"}, "/queue"),
    ({"retry": 3}, "/retry"),
    ({"retry": {"max": 101}}, "/retry/max"),
    ({"retry": {"max": -1}}, "/retry/max"),
    ({"retry": {"max": 1.5}}, "/retry/max"),
    ({"retry": {"delay": "25h"}}, "/retry/delay"),
    ({"retry": {"delay": 5}}, "/retry/delay"),
    ({"retry": {"backoff": "linear"}}, "/retry/backoff"),
    ({"retry": {"jitter": "yes"}}, "/retry/jitter"),
    ({"retry": {"maximum": 3}}, "/retry/maximum"),
    ({"timeout": "5ms"}, "/timeout"),
    ({"timeout": "25h"}, "/timeout"),
    ({"timeout": 30}, "/timeout"),
    ({"success_codes": "2xx"}, "/success_codes"),
    ({"success_codes": []}, "/success_codes"),
    ({"success_codes": ["9xx"]}, "/success_codes"),
    ({"success_codes": [99]}, "/success_codes"),
    ({"success_codes": ["2x"]}, "/success_codes"),
    ({"sla": "quick"}, "/sla"),
    ({"ttl": "-1s"}, "/ttl"),
    ({"ttl": 0}, "/ttl"),
    ({"on_lost": "shrug"}, "/on_lost"),
    ({"lost_max": 0.5}, "/lost_max"),
    ({"key": ""}, "/key"),
    ({"key": "k" * 256}, "/key"),
    ({"key": 7}, "/key"),
    ({"name": "n" * 257}, "/name"),
    ({"name": 7}, "/name"),
    ({"labels": ["a"]}, "/labels"),
    ({"labels": {"a": 1}}, "/labels"),
    ({"labels": {f"l{i}": "v" for i in range(17)}}, "/labels"),
    ({"traceparent": "nonsense"}, "/traceparent"),
]


@pytest.mark.parametrize("fields, field", WRONG, ids=lambda value: json.dumps(value)[:50] if isinstance(value, dict) else "")
def test_a_wrong_field_is_422_and_named(shared_api, fields, field):
    assert_problem(shared_api.post("/v1/tasks", {"url": URL, **fields}), 422, field=field)


def test_a_task_without_a_target_misses_its_url(shared_api):
    assert_problem(shared_api.post("/v1/tasks", {}), 422, "missing_field", "/url")


TYPOS = [("urll", "url"), ("prioritiy", "priority"), ("time_out", "timeout"), ("header", "headers")]


@pytest.mark.parametrize("typo, meant", TYPOS)
def test_an_unknown_field_is_an_error_with_a_suggestion(shared_api, typo, meant):
    problem = assert_problem(shared_api.post("/v1/tasks", {"url": URL, typo: "x"}), 422, "unknown_field", f"/{typo}")
    assert f'"{meant}"' in problem["detail"]


@pytest.mark.parametrize(
    "fields",
    [{"cron": "* * * * *"}, {"every": "15m"}, {"after": ["t0000000000001"]}, {"kind": "k", "args": {}}, {"artifact": "a1"}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_not_built_yet_is_refused_and_not_ignored(shared_api, fields):
    assert_problem(shared_api.post("/v1/tasks", {"url": URL, **fields}), 422, field="/")


def test_nothing_that_was_refused_was_stored(shared_api):
    before = sum(shared_api.read("/v1/stats")["states"].values())
    assert shared_api.post("/v1/tasks", {"url": URL, "priority": 10}).status == 422
    assert shared_api.post("/v1/tasks", [{"url": URL, "priority": 10}]).status in (207, 422)
    assert sum(shared_api.read("/v1/stats")["states"].values()) == before


MISSING = [
    ("GET", "/v1/nothing"),
    ("GET", "/v1"),
    ("GET", "/v2/tasks"),
    ("POST", "/v1/tasks/"),
    ("GET", "/v1/tasks/t0000000000001"),
    ("GET", "/v1/jobs/j0000000000001"),
    ("GET", "/v1/tasks/t0000000000001/jobs"),
    ("GET", "/v1/tasks/j0000000000001"),
    ("GET", "/v1/jobs/t0000000000001"),
    ("GET", "/v1/tasks/nonsense"),
    ("GET", "/v1/tasks/t00000000000011111"),
    ("GET", "/v1/tasks/t000000000000U"),
    ("GET", "/v1/tasks/..%2f..%2fetc"),
    ("GET", "/v1/tasks/%00"),
    ("POST", "/v1/tasks/t0000000000001/explode"),
]


@pytest.mark.parametrize("method, path", MISSING)
def test_what_is_not_there_is_404(shared_api, method, path):
    answer = shared_api.request(method, path)
    if "%00" in path:
        assert answer.status in (400, 404), answer
    else:
        assert_problem(answer, 404, "not_found")


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("PUT", "/v1/tasks", "POST"),
        ("DELETE", "/healthz", "GET"),
        ("POST", "/v1/stats", "GET"),
        ("GET", "/v1/tasks/t0000000000001/cancel", "POST"),
        ("GET", "/v1/queues/default/pause", "POST"),
        ("POST", "/v1/jobs/j0000000000001", "GET"),
    ],
)
def test_a_wrong_method_is_405_and_says_which_are_right(shared_api, method, path, allowed):
    answer = shared_api.request(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert allowed in [name.strip() for name in answer.headers["Allow"].split(",")]


@pytest.mark.parametrize("type_", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "nonsense"])
def test_a_wrong_type_is_415(shared_api, type_):
    answer = shared_api.post("/v1/tasks", json.dumps({"url": URL}), headers={"Content-Type": type_})
    assert_problem(answer, 415, "unsupported_type")


def test_a_charset_beside_the_type_is_fine(shared_api, target):
    body = json.dumps({"url": target.url("/ok/charset")})
    answer = shared_api.post("/v1/tasks", body, headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 201


def test_one_task_over_1_mib_is_413(shared_api):
    answer = shared_api.post("/v1/tasks", {"url": URL, "body": "x" * (1 << 20)})
    assert_problem(answer, 413, "too_large")


BULK_HEAD = b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
OVERSIZE = 17 << 20


def test_a_bulk_over_16_mib_is_413(shared_api):
    assert_problem(shared_api.post("/v1/tasks", b" " * OVERSIZE), 413, "too_large")


def test_a_client_that_asks_first_hears_413_before_it_sends(shared):
    head = BULK_HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % OVERSIZE
    assert raw_exchange(shared.where(), head).startswith(b"HTTP/1.1 413")


def test_a_body_of_unknown_length_is_counted_while_it_comes(shared):
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    received = raw_exchange(shared.where(), BULK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 17 + b"0\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 413"), received[:200]


def test_a_body_without_end_is_cut_off(shared):
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(shared.where(), timeout=60) as connection, pytest.raises(OSError):
        connection.sendall(BULK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(1000):
            connection.sendall(chunk)
    assert shared.api.get("/healthz").status == 200


def test_too_many_tasks_at_once_are_refused(shared_api):
    tasks = "[" + ",".join(['{"url":"%s","in":"1h"}' % URL] * 10_001) + "]"
    assert_problem(shared_api.post("/v1/tasks", tasks), (413, 422))


@pytest.mark.parametrize("path", ["/v1/stats?frobnicate=1", "/v1/tasks/t0000000000001?x=1"])
def test_an_unknown_query_parameter_is_refused(shared_api, path):
    assert_problem(shared_api.get(path), (400, 404, 422))


def test_a_bad_value_of_a_known_query_parameter_is_refused(shared_api):
    assert_problem(shared_api.post("/v1/tasks?brief=maybe", {"url": URL}), (400, 422))


@pytest.mark.parametrize("queue", ["a%20b", "q" * 65, "gr%C3%BCn", "%2F"])
def test_a_bad_queue_name_cannot_be_paused(shared_api, queue):
    assert_problem(shared_api.post(f"/v1/queues/{queue}/pause"), (404, 422))


class TestOnlyFromHere:
    """A listener on loopback trusts its callers, so a page from elsewhere must not be able to use the browser as one."""

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:7070", "127.0.0.1.evil.example", "192.0.2.7", ""])
    def test_a_foreign_host_is_refused(self, shared_api, host):
        answer = shared_api.get("/v1/stats", headers={"Host": host})
        assert answer.status in (400, 403), answer

    @pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "127.0.0.1:7070", "[::1]:7070"])
    def test_loopback_names_are_fine(self, shared_api, host):
        assert shared_api.get("/v1/stats", headers={"Host": host}).status == 200

    @pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1.evil.example", "null"])
    def test_a_foreign_origin_is_refused(self, shared_api, origin):
        answer = shared_api.post("/v1/tasks", {"url": URL}, headers={"Origin": origin})
        assert_problem(answer, 403)

    def test_an_origin_from_here_is_fine(self, shared_api):
        assert shared_api.get("/v1/stats", headers={"Origin": "http://localhost:3000"}).status == 200

    def test_a_wrong_key_is_401(self, shared_api):
        answer = shared_api.get("/v1/stats", headers={"Authorization": "Bearer rota_sk_wrong"})
        assert_problem(answer, 401, "unauthorized")


POST = b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\n"
BROKEN = {
    "not http": b"hello\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "length and chunks": POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "a negative length": POST + b"Content-Length: -2\r\n\r\n{}",
    "a bad chunk": POST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "a header of 100 KiB": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    "a path of 100 KiB": b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a control character": b"GET /heal\x01thz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_http_is_refused_and_does_no_harm(shared, data):
    try:
        received = raw_exchange(shared.where(), data, timeout=90)
    except ConnectionError:
        received = b""
    assert received == b"" or received.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), received[:200]
    assert shared.api.get("/healthz").status == 200


def test_a_client_that_leaves_in_the_middle_does_no_harm(shared, target):
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    for _ in range(20):
        with socket.create_connection(shared.where()) as connection:
            connection.sendall(head.encode() + b'{"url": "http')
    task = shared.api.submit(target.url("/ok/afterwards"))
    assert shared.api.finished(task["id"])["state"] == "success"


def test_a_client_that_does_not_wait_for_its_answer_does_no_harm(shared, target):
    body = json.dumps({"url": target.url("/ok/not-waiting")}).encode()
    head = f"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(20):
        with socket.create_connection(shared.where()) as connection:
            connection.sendall(head.encode() + body)
    wait_until(lambda: shared.api.get("/healthz").status == 200, "it still answers")
    task = shared.api.submit(target.url("/ok/afterwards"))
    assert shared.api.finished(task["id"])["state"] == "success"
