"""Requests that are not quite HTTP, or not what a route takes: refused with a 4xx, the next client is served, nothing is stored.

Where the end of a request is in doubt the connection is closed, so that nothing behind it is taken for a request. To see that,
whole submits follow the doubtful ones here: none of them may be stored.
"""

import contextlib
import json
import re
import socket

import pytest

from support.client import Answer, raw_exchange
from support.problem import assert_problem, stored
from support.wait import wait_until

URL = "http://127.0.0.1:9/never-called"
TASK = json.dumps({"url": URL, "in": "1h"}).encode()
NOBODY = "t0000000000001"


def post(*headers, body=TASK, version=b"1.1"):
    """A submit, byte for byte, without a word about its length."""
    lines = [b"POST /v1/tasks HTTP/" + version, b"Host: localhost", b"Content-Type: application/json", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(target=b"/healthz", *headers, method=b"GET"):
    return b"\r\n".join([method + b" " + target + b" HTTP/1.1", b"Host: localhost", *headers]) + b"\r\n\r\n"


LENGTH = b"Content-Length: %d" % len(TASK)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(TASK), TASK)
SUBMIT = post(LENGTH)


def answers_to(where, data, timeout=60):
    """All that comes back until the server closes."""
    received = b""
    with socket.create_connection(where, timeout=timeout) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)  # it may be closed while we still send
        while piece := connection.recv(65536):
            received += piece
    return received


def first_answer(received):
    """As the client would give it; None when nothing came."""
    head, _, body = received.partition(b"\r\n\r\n")
    if not head:
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.title(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return Answer(int(lines[0].split()[1]), headers, body[: int(headers.get("Content-Length", 0))])


# Told by rota: a problem document and a closed connection.
DOUBTFUL = {
    "two lengths": post(LENGTH, b"Content-Length: 3"),
    "the same length twice": post(LENGTH, LENGTH),
    "a length and chunks": post(LENGTH, CHUNKED, body=CHUNKS),
    "chunks and a length": post(CHUNKED, LENGTH, body=CHUNKS),
    "chunks twice": post(CHUNKED, CHUNKED, body=CHUNKS),
    "an unknown encoding": post(b"Transfer-Encoding: gzip"),
    "chunks among others": post(b"Transfer-Encoding: gzip, chunked", body=CHUNKS),
    "nearly chunked": post(b"Transfer-Encoding: xchunked", body=CHUNKS),
    "chunks of HTTP/1.0": post(CHUNKED, body=CHUNKS, version=b"1.0"),
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": get(b"/healthz", b"Host: localhost"),
    "a space before the colon of a length": post(b"Content-Length : %d" % len(SUBMIT), body=b""),
    "a tab before the colon of a length": post(b"Content-Length\t: %d" % len(SUBMIT), body=b""),
    "a space before the colon of chunks": post(b"Transfer-Encoding : chunked", body=CHUNKS),
    "a space in a name": get(b"/healthz", b"X Y: z"),
    "no name": get(b"/healthz", b": x"),
    "a name that is no token": get(b"/healthz", b"X(y): z"),
    "a letter in a name": get(b"/healthz", b"Gr\xc3\xb6\xc3\x9fe: z"),
    "a NUL in a value": get(b"/healthz", b"X: a\x00b", b"Y: z"),
    "a NUL in the last value": get(b"/healthz", b"X: a\x00b"),
    "a NUL behind a length": post(b"Content-Length: 0\x00", body=b""),
    "a control character in a value": get(b"/healthz", b"X: a\x01b"),
    "DEL in a value": get(b"/healthz", b"X: a\x7fb"),
    "a carriage return in a value": get(b"/healthz", b"X: a\rY: b"),
    "a folded header": get(b"/healthz", b"X: a\r\n b"),
    "a folded length": post(b"Content-Length:\r\n %d" % len(SUBMIT), body=b""),
    "line feeds alone": get().replace(b"\r\n", b"\n"),
    "one line feed alone": get(b"/healthz", b"X: a\nY: b"),
    "a line feed at the end": get()[:-2] + b"\n",
    "a method that is no token": get(method=b"G@T"),
    "a NUL in the method": get(method=b"GET\x00"),
    "two spaces in the request line": get(b" /healthz"),
    "a space in the path": get(b"/a b"),
    "a space in the query": get(b"/v1/stats?a= b"),
    "a version twice": get(b"/ HTTP/1.1"),
    "a control character in the path": get(b"/v1/tasks/\x01"),
    "DEL in the path": get(b"/v1/tasks/\x7f"),
    "a NUL in the path": get(b"/v1/tasks/\x00"),
    "a control character in the query": get(b"/v1/stats?a=\x01"),
    "a NUL in the query": get(b"/v1/stats?a=\x00"),
    "a wrong path and a hidden length": get(b"/%zz", b"Content-Length : %d" % len(SUBMIT)),
}


@pytest.mark.parametrize("data", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_doubtful_framing_is_400_and_nothing_behind_it_is_read(unharmed, data):
    received = answers_to(unharmed.where(), data + SUBMIT)
    answer = first_answer(received)
    assert_problem(answer, 400, "bad_request")
    assert answer.headers["Connection"].lower() == "close"
    assert len(re.findall(rb"HTTP/1.1 \d", received)) == 1


# What cannot be read at all. The connection is closed as well.
BROKEN = {
    "not http": (b"hello\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n", 400),
    "no version": (b"GET /healthz\r\n\r\n", 400),
    "an unknown protocol": (b"GET /healthz ICY/1.1\r\nHost: localhost\r\n\r\n", 400),
    "the protocol in lower case": (b"GET /healthz http/1.1\r\nHost: localhost\r\n\r\n", 400),
    "a version of two digits": (b"GET /healthz HTTP/1.10\r\nHost: localhost\r\n\r\n", 400),
    "no method": (b" /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    "a header without a colon": (get(b"/healthz", b"X"), 400),
    "a NUL in a name": (get(b"/healthz", b"X\x00: a"), 400),
    "a negative length": (post(b"Content-Length: -2"), 400),
    "a length with a plus": (post(b"Content-Length: +%d" % len(TASK)), 400),
    "a length in hexadecimal": (post(b"Content-Length: 0x20"), 400),
    "a length with a fraction": (post(b"Content-Length: 2.0"), 400),
    "an empty length": (post(b"Content-Length: "), 400),
    "a list of lengths": (post(b"Content-Length: %d, %d" % (len(TASK), len(TASK))), 400),
    "a length beyond 64 bits": (post(b"Content-Length: 99999999999999999999"), 413),
    "a chunk size that is none": (post(CHUNKED, body=b"zz\r\n" + CHUNKS), 400),
    "a negative chunk": (post(CHUNKED, body=b"-1\r\n" + CHUNKS), 400),
    "a chunk size beyond 64 bits": (post(CHUNKED, body=b"fffffffffffffffff\r\n" + CHUNKS), (400, 413)),
    "a chunk longer than it says": (post(CHUNKED, body=b"2\r\n{}}\r\n0\r\n\r\n"), 400),
    "a header of 100 KiB": (get(b"/healthz", b"X: " + b"x" * 100_000), 431),
    "a path of 100 KiB": (get(b"/" + b"x" * 100_000), 431),
    "10,000 headers": (get(b"/healthz", *[b"X: y"] * 10_000), 431),
}


@pytest.mark.parametrize("data, status", BROKEN.values(), ids=BROKEN.keys())
def test_broken_http_is_refused_and_nothing_behind_it_is_read(unharmed, data, status):
    received = answers_to(unharmed.where(), data + SUBMIT)
    answer = first_answer(received)
    statuses = status if isinstance(status, tuple) else (status,)
    assert answer.status in statuses, received[:300]
    assert answer.headers["Content-Type"] == "application/problem+json" and answer.headers["Connection"] == "close"
    assert len(re.findall(rb"HTTP/1.1 \d", received)) == 1


@pytest.mark.parametrize("version", [b"0.9", b"2.0", b"3.0", b"9.9"])
def test_another_version_of_http_is_400(unharmed, version):
    received = answers_to(unharmed.where(), get().replace(b"HTTP/1.1", b"HTTP/" + version) + SUBMIT)
    assert_problem(first_answer(received), 400, "bad_request")
    assert received.count(b"HTTP/1.1 ") == 1 or b"and HTTP/1.1" in received


# The target, the status, the code. A percent sign must escape something, and never NUL.
TARGETS = [
    (b"/v1/tasks/%", 400, "bad_request"),
    (b"/v1/tasks/%2", 400, "bad_request"),
    (b"/v1/tasks/%zz", 400, "bad_request"),
    (b"/v1/tasks/%u0041", 400, "bad_request"),
    (b"/v1/tasks/%00", 400, "bad_request"),
    (b"/v1/tasks/t%00", 400, "bad_request"),
    (b"/v1/stats?%", 400, "bad_request"),
    (b"/v1/stats?a=%0", 400, "bad_request"),
    (b"/v1/stats?a=%00", 400, "bad_request"),
    (b"/v1/stats?" + b"a=1&" * 64 + b"b", 400, "bad_request"),
    (b"/v1/tasks/\xff", 404, "not_found"),
    (b"/v1/tasks/%ff", 404, "not_found"),
    (b"/v1/tasks/..%2f..%2fetc", 404, "not_found"),
    (b"/v1/tasks/../../etc/passwd", 404, "not_found"),
    (b"/v1/tasks%2f" + NOBODY.encode(), 404, "not_found"),
    (b"/v1%2ftasks", 404, "not_found"),
    (b"/v1%2Fstats", 404, "not_found"),
    (b"%2fhealthz", 404, "not_found"),
    (b"/v1/stats%3f", 404, "not_found"),
    (b"/v1/jobs/j%2fexplain", 404, "not_found"),
    (b"/v1/tasks/" + b"x" * 8000, 404, "not_found"),
    (b"//v1/stats", 404, "not_found"),
    (b"/V1/stats", 404, "not_found"),
    (b"/v1/stats/", 404, "not_found"),
    (b"/v1/stats;x=1", 404, "not_found"),
    (b"/healthz%20", 404, "not_found"),
    (b"healthz", 404, "not_found"),
    (b"*", 404, "not_found"),
    (b"http://localhost/nowhere", 404, "not_found"),
    (b"http://localhost//healthz", 404, "not_found"),
    (b"ftp://localhost/healthz", 404, "not_found"),
    (b"http:/healthz", 404, "not_found"),
    (b"http://evil.example/healthz", 403, "forbidden"),
    (b"http://localhost.evil.example/healthz", 403, "forbidden"),
    (b"http://", 400, "bad_request"),
    (b"http:///healthz", 400, "bad_request"),
    (b"http://me@localhost/healthz", 400, "bad_request"),
    (b"http://localhost/%zz", 400, "bad_request"),
    (b"/v1/nothing", 404, "not_found"),
    (b"/v1", 404, "not_found"),
    (b"/v2/tasks", 404, "not_found"),
    (b"/v1/tasks/", 404, "not_found"),
    (b"/v1/tasks/t0000000000001", 404, "not_found"),
    (b"/v1/jobs/j0000000000001", 404, "not_found"),
    (b"/v1/tasks/t0000000000001/jobs", 404, "not_found"),
    (b"/v1/tasks/j0000000000001", 404, "not_found"),
    (b"/v1/jobs/t0000000000001", 404, "not_found"),
    (b"/v1/tasks/nonsense", 404, "not_found"),
    (b"/v1/tasks/T0000000000001", 404, "not_found"),
    (b"/v1/tasks/t0000000000000", 404, "not_found"),
    (b"/v1/tasks/tzzzzzzzzzzzzz", 404, "not_found"),
    (b"/v1/tasks/t00000000000011111", 404, "not_found"),
    (b"/v1/tasks/t000000000000U", 404, "not_found"),
    (b"/v1/tasks/t0000000000001/explode", 404, "not_found"),
]


@pytest.mark.parametrize("target, status, code", TARGETS, ids=lambda value: repr(value)[:50] if isinstance(value, bytes) else "")
def test_a_target_that_leads_nowhere(unharmed, target, status, code):
    assert_problem(first_answer(raw_exchange(unharmed.where(), get(target))), status, code)


# Path, query, the field that is named, the code.
QUERIES = [
    ("GET", "/v1/stats?frobnicate=1", "frobnicate", "unknown_field"),
    ("GET", "/v1/stats?", None, None),
    ("GET", "/v1/stats?=1", None, "unknown_field"),
    ("GET", "/v1/stats?a%2Fb=1", "a/b", "unknown_field"),
    ("GET", "/v1/tasks/t0000000000001?x=1", "x", "unknown_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=0", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=1001", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=-1", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=+1", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=1.0", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=1e1", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=0x1", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=ten", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=99999999999999999999", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=1&limit=2", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?limit=1&limit=1", "limit", "invalid_field"),
    ("GET", "/v1/tasks/t0000000000001/jobs?LIMIT=1", "LIMIT", "unknown_field"),
    ("GET", "/v1/queues?limit=0", "limit", "invalid_field"),
    ("GET", "/v1/queues?limit=1001", "limit", "invalid_field"),
    ("GET", "/v1/queues?cursor=", "cursor", "invalid_field"),
    ("GET", "/v1/queues?cursor=forged", "cursor", "invalid_field"),
    ("GET", "/v1/queues?cursor=-1", "cursor", "invalid_field"),
    ("GET", "/v1/queues?cursor=9223372036854775808", "cursor", "invalid_field"),
    ("GET", "/v1/queues?cursor='%20OR%201=1", "cursor", "invalid_field"),
    ("POST", "/v1/tasks?brief=maybe", "brief", "invalid_field"),
    ("POST", "/v1/tasks?brief=", "brief", "invalid_field"),
    ("POST", "/v1/tasks?brief=1&brief=0", "brief", "invalid_field"),
    ("POST", "/v1/tasks?breif=1", "breif", "unknown_field"),
]


@pytest.mark.parametrize("method, path, field, code", QUERIES)
def test_a_wrong_query_is_422_and_named(unharmed, method, path, field, code):
    answer = unharmed.api.request(method, path, TASK if method == "POST" else None)
    if code is None:
        assert answer.status == 200
    else:
        assert assert_problem(answer, 422, code).get("field") == field


def test_limits_of_a_query_are_within_it(tried):
    for path in ("/v1/queues?limit=1", "/v1/queues?limit=1000", "/v1/queues?cursor=9223372036854775807"):
        assert tried.api.get(path).status == 200, path


METHODS = [
    ("PUT", "/v1/tasks", "POST"),
    ("post", "/v1/tasks", "POST"),
    ("HEAD", "/v1/tasks/t0000000000001/cancel", "POST"),
    ("DELETE", "/healthz", "GET"),
    ("OPTIONS", "/healthz", "GET"),
    ("TRACE", "/healthz", "GET"),
    ("BREW", "/", "GET"),
    ("M" * 4000, "/", "GET"),
    ("POST", "/v1/stats", "GET"),
    ("GET", "/v1/tasks/t0000000000001/cancel", "POST"),
    ("GET", "/v1/queues/default/pause", "POST"),
    ("POST", "/v1/jobs/j0000000000001", "GET"),
]


@pytest.mark.parametrize("method, path, allowed", METHODS, ids=lambda value: value[:20])
def test_a_wrong_method_is_405_and_says_which_are_right(unharmed, method, path, allowed):
    answer = unharmed.api.request(method, path)
    assert answer.status == 405, answer
    if method != "HEAD":
        assert_problem(answer, 405, "method_not_allowed")
    allow = [name.strip() for name in answer.headers["Allow"].split(",")]
    assert allowed in allow and method not in allow
    assert ("HEAD" in allow) == ("GET" in allow)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/v1/stats", "/v1/queues", f"/v1/tasks/{NOBODY}", "/nowhere"])
def test_head_is_get_without_a_body(unharmed, path):
    whole, head = unharmed.api.get(path), unharmed.api.request("HEAD", path)
    assert (head.status, head.body, head.type) == (whole.status, b"", whole.type)
    assert head.headers["Content-Length"] == whole.headers["Content-Length"] or path == "/v1/queues"


TYPES = """text/plain application/xml application/x-www-form-urlencoded multipart/form-data;boundary=x nonsense application/jsonp
application/json;charset=latin1 application/json;charset=utf-16 application/json,application/json */*""".split()


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("path", ["/v1/tasks", f"/v1/tasks/{NOBODY}/cancel"])
def test_a_wrong_type_is_415(unharmed, type_, path):
    answer = unharmed.api.post(path, TASK, headers={"Content-Type": type_})
    assert_problem(answer, 415, "unsupported_type", words="application/json")


RIGHT_TYPES = ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"', "application/json;v=1", ""]


@pytest.mark.parametrize("type_", RIGHT_TYPES)
def test_a_type_may_be_written_as_http_allows(tried, type_):
    assert tried.api.post("/v1/tasks", TASK, headers={"Content-Type": type_}).status == 201


@pytest.mark.parametrize("queue", ["a%20b", "q" * 65, "gr%C3%BCn", "%2F", "a%2Fb", "a%0Ab"])
def test_a_bad_queue_name_cannot_be_paused(unharmed, queue):
    assert_problem(unharmed.api.post(f"/v1/queues/{queue}/pause"), (404, 422))


class TestSizes:
    def padded(self, size):
        """A request whose head has exactly so many bytes."""
        return get(b"/healthz", b"X: " + b"x" * (size - len(get(b"/healthz", b"X: "))))

    @pytest.mark.parametrize("size, status", [(16 * 1024, 200), (16 * 1024 + 1, 431)])
    def test_headers_may_have_16_kib(self, unharmed, size, status):
        received = raw_exchange(unharmed.where(), self.padded(size))
        assert received.startswith(b"HTTP/1.1 %d " % status)
        if status == 431:
            assert_problem(first_answer(received), 431, "headers_too_large")

    def task_of(self, size):
        task = {"url": URL, "in": "1h", "body": ""}
        return json.dumps({**task, "body": "x" * (size - len(json.dumps(task)))})

    def test_one_task_may_have_1_mib(self, tried):
        assert tried.api.post("/v1/tasks?brief=1", self.task_of(1 << 20)).status == 201
        before = stored(tried.api)
        assert_problem(tried.api.post("/v1/tasks", self.task_of((1 << 20) + 1)), 413, "too_large")
        (result,) = tried.api.post("/v1/tasks", "[" + self.task_of((1 << 20) + 1) + "]").json["results"]
        assert result["error"]["code"] == "too_large"
        assert stored(tried.api) == before

    def test_a_bulk_may_have_16_mib(self, unharmed):
        assert_problem(unharmed.api.post("/v1/tasks", b" " * (16 << 20)), 400, "invalid_json")
        assert_problem(unharmed.api.post("/v1/tasks", b" " * ((16 << 20) + 1)), 413, "too_large")

    @pytest.mark.parametrize("path", [f"/v1/tasks/{NOBODY}/cancel", "/v1/queues/default/pause"])
    def test_a_body_of_a_small_route_may_have_64_kib(self, unharmed, path):
        assert_problem(unharmed.api.post(path, b"x" * (64 << 10)), 400, "invalid_json")
        assert_problem(unharmed.api.post(path, b"x" * ((64 << 10) + 1)), 413, "too_large")

    def test_a_bulk_may_have_10_000_tasks(self, tried):
        def bulk(count):
            return "[" + ",".join([TASK.decode()] * count) + "]"

        def lines(count):
            return "\n".join([TASK.decode()] * count)

        before = stored(tried.api)
        assert_problem(tried.api.post("/v1/tasks?brief=1", bulk(10_001)), 413, "too_large", words="10000")
        answer = tried.api.post("/v1/tasks?brief=1", lines(10_001), headers={"Content-Type": "application/x-ndjson"})
        assert_problem(answer, 413, "too_large", words="10000")
        assert stored(tried.api) == before
        assert tried.api.post("/v1/tasks?brief=1", bulk(10_000)).json["taken"] == 10_000

    BULK = b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    MIB = b"100000\r\n" + b" " * 0x100000 + b"\r\n"

    def test_a_client_that_asks_first_hears_413_before_it_sends(self, unharmed):
        head = self.BULK + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (17 << 20)
        assert_problem(first_answer(raw_exchange(unharmed.where(), head)), 413, "too_large")

    def test_a_body_of_unknown_length_is_counted_while_it_comes(self, unharmed):
        data = self.BULK + b"Transfer-Encoding: chunked\r\n\r\n" + self.MIB * 17 + b"0\r\n\r\n"
        assert_problem(first_answer(raw_exchange(unharmed.where(), data)), 413, "too_large")

    def test_a_body_without_end_is_cut_off(self, unharmed):
        with socket.create_connection(unharmed.where(), timeout=60) as connection, pytest.raises(OSError):
            connection.sendall(self.BULK + b"Transfer-Encoding: chunked\r\n\r\n")
            for _ in range(1000):
                connection.sendall(self.MIB)


class TestForeignPages:
    """What a browser asks for a page from elsewhere is refused, also where it sends no Origin: an image, a script, a link."""

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    @pytest.mark.parametrize("path", ["/v1/backup", "/v1/stats", "/healthz", "/"])
    def test_without_an_origin_of_ours_they_are_refused(self, unharmed, site, path):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        assert_problem(unharmed.api.get(path, headers=headers), 403, "forbidden", words=site)
        assert_problem(unharmed.api.get(path, headers={**headers, "Origin": "null"}), 403, "forbidden", words="Origin")
        assert_problem(unharmed.api.get(path, headers={**headers, "Origin": "https://evil.example"}), 403, "forbidden", words="Origin")

    @pytest.mark.parametrize("headers", [
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:3000"},
    ])
    def test_pages_of_this_machine_may_ask(self, unharmed, headers):
        assert unharmed.api.get("/v1/stats", headers=headers).status == 200

    HOSTS = ["localhost", "LOCALHOST.", "localhost:1", "127.0.0.1:65535", "127.0.0.2", "[::1]:7070", "[0:0:0:0:0:0:0:1]"]

    @pytest.mark.parametrize("host", HOSTS)
    def test_this_machine_by_any_name(self, unharmed, host):
        asks = b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode()
        assert raw_exchange(unharmed.where(), asks).startswith(b"HTTP/1.1 200 ")
        # What the target says counts, whatever Host says.
        for other, status in ((b"evil.example", 200), (b"localhost", 200)):
            asks = b"GET http://%s/healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % (host.encode(), other)
            assert raw_exchange(unharmed.where(), asks).startswith(b"HTTP/1.1 %d " % status)

    @pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "localhost:x", "[::2]", "0.0.0.0", "128.0.0.1"])
    def test_any_other_name_is_refused(self, unharmed, host):
        asks = b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode()
        assert_problem(first_answer(raw_exchange(unharmed.where(), asks)), 403, "forbidden")


class TestOddButRight:
    """What HTTP allows is taken, however seldom it is seen."""

    ODD = {
        "chunks": post(CHUNKED, body=CHUNKS),
        "another case": post(b"transfer-encoding: Chunked", body=CHUNKS),
        "chunks of a byte": post(CHUNKED, body=b"".join(b'1;ext="x"\r\n%c\r\n' % byte for byte in TASK) + b"0\r\n\r\n"),
        "trailers": post(CHUNKED, b"Trailer: X", body=CHUNKS[:-2] + b"X: y\r\nContent-Length: 5\r\n\r\n"),
        "an empty line before": b"\r\n" + SUBMIT,
        "space around values": post(LENGTH, b"X:", b"Y: \t z \t "),
        "HTTP/1.0": post(LENGTH, version=b"1.0"),
        "an absolute target": SUBMIT.replace(b" /v1", b" http://127.0.0.1:7070/v1"),
        "an absolute target of another case": SUBMIT.replace(b" /v1", b" HTTP://LocalHost/v1"),
        "an escaped letter": SUBMIT.replace(b"/tasks", b"/%74asks"),
    }

    @pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
    def test_it_is_taken_once(self, tried, data):
        before = stored(tried.api)
        received = raw_exchange(tried.where(), data)
        assert received.startswith(b"HTTP/1.1 201 "), received[:300]
        assert stored(tried.api) == before + 1

    def test_a_client_that_asks_first_is_told_to_go_on(self, tried):
        before = stored(tried.api)
        with socket.create_connection(tried.where(), timeout=60) as connection:
            connection.sendall(post(LENGTH, b"Expect: 100-continue", body=b""))
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            assert stored(tried.api) == before
            connection.sendall(TASK)
            assert connection.recv(100).startswith(b"HTTP/1.1 201 ")

    def test_requests_sent_ahead_are_answered_in_order(self, tried):
        before = stored(tried.api)
        data = get(b"/nowhere") + SUBMIT + get(b"/v1/tasks/%zz") + post(CHUNKED, body=CHUNKS)
        data += get(b"/healthz", b"Connection: close")
        received = b""
        with socket.create_connection(tried.where(), timeout=60) as connection:
            connection.sendall(data)
            while piece := connection.recv(65536):
                received += piece
        assert [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]] == [404, 201, 400, 201, 200]
        assert stored(tried.api) == before + 2

    def test_a_head_may_come_byte_by_byte(self, tried):
        before = stored(tried.api)
        with socket.create_connection(tried.where(), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in post(LENGTH, *[b"X-%d: y" % i for i in range(40)]):
                connection.sendall(bytes([byte]))
            assert connection.recv(100).startswith(b"HTTP/1.1 201 ")
        assert stored(tried.api) == before + 1


class TestClientsThatLeave:
    def test_half_a_head_or_body_stores_nothing(self, unharmed):
        wholes = [SUBMIT, post(CHUNKED, body=CHUNKS)]
        for data in [whole[:cut] for whole in wholes for cut in [*range(0, len(whole), 7), len(whole) - 1]]:
            with socket.create_connection(unharmed.where()) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)

    def test_what_was_asked_before_the_client_ended_its_side_is_done(self, tried):
        before = stored(tried.api)
        with socket.create_connection(tried.where(), timeout=60) as connection:
            connection.sendall(SUBMIT)
            connection.shutdown(socket.SHUT_WR)
            received = connection.recv(100)
        assert received.startswith(b"HTTP/1.1 201 ")
        wait_until(lambda: stored(tried.api) == before + 1, "the submit is stored")

    def test_who_leaves_in_the_middle_does_no_harm(self, unharmed):
        for _ in range(20):
            with socket.create_connection(unharmed.where()) as connection:
                connection.sendall(post(b"Content-Length: 1000", body=b'{"url": "http'))

    def test_who_does_not_wait_for_its_answer_is_served(self, tried):
        before = stored(tried.api)
        for _ in range(20):
            with socket.create_connection(tried.where()) as connection:
                connection.sendall(SUBMIT)
        wait_until(lambda: stored(tried.api) == before + 20, "all of them are stored")
