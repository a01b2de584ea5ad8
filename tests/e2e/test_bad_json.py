"""What is not strict JSON is 400 `invalid_json` with the place where it goes wrong, and nothing of it is stored."""

import json

import pytest

from support.problem import assert_problem

URL = "http://127.0.0.1:9/never-called"

# What is sent, and what the refusal says of it. U stands for a good member, so that only one thing is wrong.
U = b'"url": "http://127.0.0.1:9/"'
NOT_JSON = {
    "empty": (b"", "a value was expected"),
    "only space": (b" \r\n\t ", "a value was expected"),
    "truncated": (b"{" + U, "a comma or }"),
    "truncated in a string": (b'{"url": "http://x', "not closed"),
    "truncated in an escape": (b'{"url": "http://x\\', "not closed"),
    "truncated in a word": (b'{"body": tru', "a value was expected"),
    "trailing bytes": (b"{" + U + b"} x", "more text behind"),
    "a trailing NUL": (b"{" + U + b"}\x00", "more text behind"),
    "two values": (b"{" + U + b"}{" + U + b"}", "more text behind"),
    "not json at all": (b"url=http://x/", "a value was expected"),
    "XML": (b"<task/>", "a value was expected"),
    "a byte order mark": (b"\xef\xbb\xbf{" + U + b"}", "a value was expected"),
    "UTF-16": ("{}".encode("utf-16"), "a value was expected"),
    "single quotes": (b"{'url': 'http://x/'}", "a key in quotes"),
    "a key without quotes": (b"{url: 1}", "a key in quotes"),
    "a key that is a number": (b"{1: 2}", "a key in quotes"),
    "no colon": (b'{"url" "http://x/"}', "a colon"),
    "a trailing comma": (b"{" + U + b",}", "a key in quotes"),
    "a trailing comma in an array": (b"[1,]", "a value was expected"),
    "two commas": (b"{" + U + b',,"in":"1h"}', "a key in quotes"),
    "the wrong bracket": (b"{" + U + b"]", "a comma or }"),
    "a comment": (b"{" + U + b"} // hello", "more text behind"),
    "NaN": (b"{" + U + b', "body": NaN}', "a value was expected"),
    "Infinity": (b"{" + U + b', "body": -Infinity}', "a digit"),
    "True": (b"{" + U + b', "body": True}', "a value was expected"),
    "a leading zero": (b"{" + U + b', "priority": 05}', "begin with 0"),
    "a leading plus": (b"{" + U + b', "priority": +5}', "a value was expected"),
    "a leading point": (b"{" + U + b', "body": .5}', "a value was expected"),
    "a trailing point": (b"{" + U + b', "body": 5.}', "behind its point"),
    "an exponent without digits": (b"{" + U + b', "body": 5e}', "in its exponent"),
    "hexadecimal": (b"{" + U + b', "priority": 0x5}', "a comma or }"),
    "a number too large": (b"{" + U + b', "body": 1e999}', "too large or too small"),
    "a number too small": (b"{" + U + b', "body": 1e-999}', "too large or too small"),
    "a number of 400 digits": (b"{" + U + b', "body": ' + b"9" * 400 + b"}", "too large or too small"),
    "a key twice": (b"{" + U + b"," + U + b"}", "twice"),
    "a key twice, escaped": (b"{" + U + b', "\\u0075rl": "http://y/"}', "twice"),
    "a key twice, deep": (b"{" + U + b', "body": {"a": [{"b": 1, "b": 2}]}}', "twice"),
    "a key twice among many": (b"{" + b",".join(b'"k%d":1' % (i % 50) for i in range(51)) + b"}", "twice"),
    "too deep": (b"{" + U + b', "body": ' + b"[" * 32 + b"]" * 32 + b"}", "nested too deeply"),
    "very deep": (b"[" * 100_000, "nested too deeply"),
    "very deep, closed": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
    "bad UTF-8": (b"{" + U + b', "name": "\xff\xfe"}', "not UTF-8"),
    "overlong UTF-8": (b"{" + U + b', "name": "\xc0\xaf"}', "not UTF-8"),
    "overlong UTF-8 of four bytes": (b"{" + U + b', "name": "\xf0\x80\x80\xaf"}', "not UTF-8"),
    "a surrogate as UTF-8": (b"{" + U + b', "name": "\xed\xa0\x80"}', "not UTF-8"),
    "UTF-8 beyond Unicode": (b"{" + U + b', "name": "\xf4\x90\x80\x80"}', "not UTF-8"),
    "UTF-8 cut off": (b"{" + U + b', "name": "\xe2\x82"}', "not UTF-8"),
    "Latin-1 in a key": (b"{" + U + b', "n\xe4me": 1}', "not UTF-8"),
    "a lone high surrogate": (b"{" + U + b', "name": "\\ud800"}', "a low one behind it"),
    "two high surrogates": (b"{" + U + b', "name": "\\ud800\\ud800"}', "a low one behind it"),
    "a lone low surrogate": (b"{" + U + b', "name": "\\udc00"}', "a high one before it"),
    "a lone surrogate in a body": (b"{" + U + b', "body": {"a": ["\\udfff"]}}', "a high one before it"),
    "an unknown escape": (b"{" + U + b', "name": "\\x41"}', "no such escape"),
    "an escape of three digits": (b"{" + U + b', "name": "\\u041"}', "four hexadecimal digits"),
    "a control character": (b"{" + U + b', "name": "a\x01"}', "must be escaped"),
    "a line feed in a string": (b"{" + U + b', "name": "a\n"}', "must be escaped"),
    "a NUL byte": (b"{" + U + b', "name": "a\x00b"}', "NUL"),
    "a NUL byte in a body": (b"{" + U + b', "body": "a\x00b"}', "NUL"),
    "a NUL between tokens": (b"{\x00" + U + b"}", "a key in quotes"),
    "an escaped NUL": (b"{" + U + b', "name": "a\\u0000b"}', "NUL"),
    "an escaped NUL in a body": (b"{" + U + b', "body": ["\\u0000"]}', "NUL"),
    "an escaped NUL in a key": (b"{" + U + b', "labels": {"\\u0000": "x"}}', "NUL"),
}
ROWS = [pytest.param(*row, id=name) for name, row in NOT_JSON.items()]


@pytest.mark.parametrize("body, words", ROWS)
def test_what_is_not_json_is_400(unharmed, body, words):
    problem = assert_problem(unharmed.api.post("/v1/tasks", body), 400, "invalid_json", words=words)
    assert problem["detail"].startswith("Line ")
    assert "field" not in problem


class TestInABulk:
    @pytest.mark.parametrize("body, words", [row for row in ROWS if row.values[0].strip() and row.id != "a trailing NUL"])
    def test_one_bad_task_spoils_an_array(self, unharmed, body, words):
        assert_problem(unharmed.api.post("/v1/tasks", b"[{" + U + b"}, " + body + b"]"), 400, "invalid_json")

    @pytest.mark.parametrize("body, words", [row for row in ROWS if row.values[0].strip() and b"\n" not in row.values[0]])
    def test_one_bad_line_is_refused_in_its_place(self, unharmed, body, words):
        answer = unharmed.api.post("/v1/tasks", body + b"\n", headers={"Content-Type": "application/x-ndjson"})
        assert answer.status == 207, answer
        (result,) = answer.json["results"]
        assert result["error"]["code"] == "invalid_json" and words in result["error"]["detail"]


def test_the_place_is_told_as_an_editor_counts(unharmed):
    body = '{\n  "url": "http://x/",\n  "name": "ä😀" 7\n}'
    assert assert_problem(unharmed.api.post("/v1/tasks", body), 400)["detail"].startswith("Line 3, column 16:")


@pytest.mark.parametrize("body", ["17", '"text"', "null", "true", "-0.0"])
def test_what_is_not_an_object_is_422(unharmed, body):
    assert_problem(unharmed.api.post("/v1/tasks", body), 422, "invalid_field")


@pytest.mark.parametrize("body", ["17", '"text"', "null", "true", "[]", "[{}]"])
def test_what_is_not_an_object_in_a_bulk_is_refused_in_its_place(unharmed, body):
    answer = unharmed.api.post("/v1/tasks", f"[{body}]")
    assert answer.status == 207, answer
    assert answer.json["results"][0]["error"]["code"] == "invalid_field"


def test_depth_and_numbers_at_their_limits_are_taken(tried):
    deep = "[" * 31 + "]" * 31
    for body in (deep, "1.7976931348623157e308", "-5e-324", "123456789012345678901234567890", "1.50e+03", '"\\ud83d\\ude00"'):
        answer = tried.api.post("/v1/tasks", '{"url": "%s", "in": "1h", "body": %s}' % (URL, body))
        assert answer.status == 201, answer
        assert f'"body":{body}' in answer.body.decode(), "the bytes that came"


# Routes that take no fields take no body, or {}.
BODIES = [
    (b"{", 400, "invalid_json", None),
    (b"\xff", 400, "invalid_json", None),
    (b"[]", 422, "invalid_field", None),
    (b"null", 422, "invalid_field", None),
    (b'{"running": 1}', 422, "unknown_field", "/running"),
    (b'{"a/b~c": 1}', 422, "unknown_field", "/a~1b~0c"),
    ('{"%s": 1}' % ("ä" * 200), 422, "unknown_field", "/" + "ä" * 40),
]


@pytest.mark.parametrize("path", ["/v1/tasks/t0000000000001/cancel", "/v1/jobs/j0000000000001/retry", "/v1/queues/default/pause"])
@pytest.mark.parametrize("body, status, code, field", BODIES)
def test_a_body_where_none_belongs_is_refused(unharmed, path, body, status, code, field):
    problem = assert_problem(unharmed.api.post(path, body), status, code, field)
    assert "\ufffd" not in problem.get("field", "")


def test_a_body_where_none_can_be_is_413(unharmed):
    assert_problem(unharmed.api.request("GET", "/v1/stats", b"{}"), 413, "too_large")


def test_a_key_that_was_refused_is_still_free(tried):
    """Half a write would remember the key."""
    task = {"url": URL, "in": "1h", "key": "refused once"}
    assert_problem(tried.api.post("/v1/tasks", json.dumps({**task, "priority": 10})), 422)
    assert_problem(tried.api.post("/v1/tasks", json.dumps(task)[:-1]), 400)
    assert tried.api.post("/v1/tasks", task).status == 201
