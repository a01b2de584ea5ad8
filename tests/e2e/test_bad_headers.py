"""The headers of a task: what could change the framing or the meaning of a call is refused and never stripped."""

import json

import pytest

from support.problem import assert_problem

URL = "http://127.0.0.1:9/never-called"


RESERVED = """Host host HOST Content-Length content-length Transfer-Encoding Connection Keep-Alive Upgrade TE Trailer Expect
Proxy-Connection Proxy-Authorization proxy-x Rota-Job-Id rota-anything Rota-Token webhook-id Webhook-Signature Idempotency-Key
traceparent""".split()

# The headers, the words of the refusal. The pointer names the header that is wrong, unless it is all of them.
WRONG = {
    "no object": ("X: y", "an object of strings", "/headers"),
    "a list": (["X: y"], "an object of strings", "/headers"),
    "a number": (7, "an object of strings", "/headers"),
    "true": (True, "an object of strings", "/headers"),
    "a value that is a number": ({"X": 1}, "must be a string", "/headers/X"),
    "a value that is null": ({"X": None}, "must be a string", "/headers/X"),
    "a value that is a list": ({"X": ["a", "b"]}, "must be a string", "/headers/X"),
    "CRLF in a value": ({"X": "a\r\nY: b"}, "control characters", "/headers/X"),
    "LF in a value": ({"X": "a\nb"}, "control characters", "/headers/X"),
    "CR in a value": ({"X": "a\rb"}, "control characters", "/headers/X"),
    "CRLF at the end": ({"X": "a\r\n"}, "control characters", "/headers/X"),
    "a folded value": ({"X": "a\r\n b"}, "control characters", "/headers/X"),
    "a control character": ({"X": "a\x01"}, "control characters", "/headers/X"),
    "an escape sequence": ({"X": "\x1b[31m"}, "control characters", "/headers/X"),
    "DEL": ({"X": "a\x7f"}, "control characters", "/headers/X"),
    "CRLF in a name": ({"X\r\nY": "a"}, "a token", "/headers/X\r\nY"),
    "LF behind a name": ({"X\n": "a"}, "a token", "/headers/X\n"),
    "an empty name": ({"": "a"}, "a token", "/headers/"),
    "a space in a name": ({"X Y": "a"}, "a token", "/headers/X Y"),
    "a space behind a name": ({"X ": "a"}, "a token", "/headers/X "),
    "a space before a name": ({" Host": "a"}, "a token", "/headers/ Host"),
    "a tab behind a name": ({"Host\t": "a"}, "a token", "/headers/Host\t"),
    "a colon in a name": ({"X:": "a"}, "a token", "/headers/X:"),
    "a slash in a name": ({"X/Y": "a"}, "a token", "/headers/X~1Y"),
    "a quote in a name": ({'X"': "a"}, "a token", '/headers/X"'),
    "a letter outside ASCII in a name": ({"Größe": "a"}, "a token", "/headers/Größe"),
    "one twice in another case": ({"X-A": "1", "x-a": "2"}, "twice", "/headers/x-a"),
    "65 of them": ({f"X-{i}": "v" for i in range(65)}, "at most 64", "/headers"),
    "a byte too many": ({"X": "v" * 8192}, "8192 bytes", "/headers"),
    "a byte too many in all": ({f"X{i}": "v" * 2046 for i in range(4)} | {"Y": ""}, "8192 bytes", "/headers"),
    "reserved behind good ones": ({"X-A": "b", "Content-length": "5"}, "set by rota", "/headers/Content-length"),
    **{f"reserved {name}": ({name: "x"}, "set by rota", f"/headers/{name}") for name in RESERVED},
}


@pytest.mark.parametrize("headers, words, field", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_header_is_422_and_named(unharmed, headers, words, field):
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, "headers": headers}), 422, "invalid_field", words=words)
    assert problem["field"] == field


@pytest.mark.parametrize("text", ['{"X": "a\\u0000b"}', '{"X\\u0000": "a"}'], ids=["in a value", "in a name"])
def test_a_nul_is_refused(unharmed, text):
    assert_problem(unharmed.api.post("/v1/tasks", '{"url": "%s", "headers": %s}' % (URL, text)), 400, "invalid_json", words="NUL")


TAKEN = {
    "64 of them": {f"X-{i}": "" for i in range(64)},
    "all bytes there may be": {"X": "v" * 8191},
    "all marks of a token": {"!#$%&'*+-.^_`|~09azAZ": "x"},
    "UTF-8 in a value": {"X": "Größe 😀"},
    "a tab in a value": {"X": "a\tb"},
    "only space": {"X": "  "},
    "empty": {"X": ""},
    "nearly reserved": {"Hosts": "x", "Proxy": "x", "Rota": "x", "TEA": "x", "webhook": "x", "Content-Type": "text/plain"},
}


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.parametrize("headers", TAKEN.values(), ids=TAKEN.keys())
def test_what_is_within_the_rules_arrives_as_it_was_written(tried, target, headers):
    answer = tried.api.post("/v1/tasks", json.dumps({"url": target.url("/ok/headers"), "headers": headers}, ensure_ascii=False))
    assert answer.status == 201, answer
    (call,) = target.wait_calls(1)
    for name, value in headers.items():
        assert call.header(name).encode("latin-1").decode().strip() == value.strip(), name
