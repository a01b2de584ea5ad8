"""Tasks that are JSON and make no sense: 422 with the field's pointer and what is allowed, and nothing is stored."""

import json

import pytest

from support.problem import assert_problem

URL = "http://127.0.0.1:9/never-called"

# Every field: one good value of each JSON type it takes. What it does not take is refused, whatever the field.
FIELDS = {
    "url": {"string": "http://127.0.0.1:9/"},
    "method": {"string": "GET"},
    "headers": {"object": {"X-A": "b"}},
    "body": {"string": "x", "number": 1.5, "true": True, "array": [1], "object": {"a": 1}},
    "at": {"string": "2031-01-01T00:00:00Z"},
    "in": {"string": "1h"},
    "not_after": {"string": "10m"},
    "retry": {"object": {"max": 1}},
    "timeout": {"string": "5s"},
    "success_codes": {"array": ["2xx"]},
    "priority": {"number": 5},
    "queue": {"string": "q"},
    "sla": {"string": "5s"},
    "key": {"string": "types of key"},
    "ttl": {"string": "1d"},
    "on_lost": {"string": "bury"},
    "lost_max": {"number": 2},
    "name": {"string": "n"},
    "labels": {"object": {"a": "b"}},
    "tracing_id": {"string": "t"},
    "created_by": {"string": "c"},
    "traceparent": {"string": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"},
    "retry/max": {"number": 1},
    "retry/delay": {"string": "1s"},
    "retry/backoff": {"string": "fixed"},
    "retry/max_delay": {"string": "1h"},
    "retry/jitter": {"true": False},
    "cron": {"string": "@daily"},
    "every": {"string": "1h"},
    "timezone": {"string": "Europe/Berlin"},
    "anchor": {"string": "2026-01-01T00:00:00Z"},
    "misfire": {"string": "all"},
    "misfire_window": {"string": "1h"},
    "overlap": {"string": "skip"},
    "max_active": {"number": 2},
    "dst_gap": {"string": "skip"},
    "dst_overlap": {"string": "both"},
    "exclude": {"array": ["12-25"]},
    "pause_after_failures": {"number": 3},
    "starts_at": {"string": "2034-01-01T00:00:00Z"},
    "ends_at": {"string": "2036-01-01T00:00:00Z"},
    "max_runs": {"number": 3},
    "jitter": {"string": "1m"},
}
TYPES = {"string": "seven", "number": 7.5, "true": True, "array": [[]], "object": {"no such thing": {}}}


# What a field needs beside it, and with what a task with it begins later. A schedule begins so late that nothing more of it is
# planned while tests count what is stored.
LATER = {"starts_at": "2035-01-01T00:00:00Z"}
RECURS = {"cron": "@daily", **LATER}
BESIDE = {
    "at": {},
    "in": {},
    "cron": LATER,
    "every": LATER,
    "anchor": {"every": "1h", **LATER},
    "max_active": {"overlap": "skip", **RECURS},
    **{field: RECURS for field in ("timezone", "misfire", "misfire_window", "overlap", "dst_gap", "dst_overlap", "exclude")},
    **{field: RECURS for field in ("pause_after_failures", "starts_at", "ends_at", "max_runs", "jitter")},
}


def task_with(field, value):
    """A task for later with one field, or one field of `retry`, set; null takes a schedule away with what belongs to it."""
    outer, _, inner = field.partition("/")
    beside = {} if value is None and outer in ("cron", "every") else BESIDE.get(outer, {"in": "1h"})
    return {"url": URL, **beside, outer: {inner: value} if inner else value}


WRONG_TYPES = [(field, type_) for field, good in FIELDS.items() for type_ in TYPES if type_ not in good]


@pytest.mark.parametrize("field, type_", WRONG_TYPES, ids=lambda value: value)
def test_a_field_of_the_wrong_type_is_422_and_named(unharmed, field, type_):
    answer = unharmed.api.post("/v1/tasks", task_with(field, TYPES[type_]))
    problem = assert_problem(answer, 422, ("invalid_field", "unknown_field"), f"/{field}", words="must")
    assert problem["field"] == f"/{field}"


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_a_right_type_is_taken_and_so_is_null(tried, field):
    for value in [*FIELDS[field].values(), None]:
        if field != "url" or value:
            answer = tried.api.post("/v1/tasks", task_with(field, value))
            assert answer.status == 201, answer


def test_the_fields_here_are_those_there_are(tried):
    """A new field comes with a row above."""
    shown = tried.api.submit(URL, **{"in": "1h"})
    mine = {name.split("/")[0] for name in FIELDS} | {"id", "state", "scheduled_at", "version", "created_at", "updated_at", "outcome", "runs", "job"}
    assert set(shown) <= mine, "FIELDS lacks a field"
    recurring = tried.api.submit(URL, **RECURS)
    mine |= {"success_rate", "failures_in_row", "next_at", "last_at", "paused", "skips"}
    assert set(recurring) <= mine, "FIELDS lacks a field of recurring tasks"
    assert set(shown["retry"]) == {name.split("/")[1] for name in FIELDS if "/" in name}


# What is wrong: the fields beside (or instead of) the url, the field that is named, words of the refusal.
WRONG = [
    ({"url": None}, "/url", "needs a target"),
    ({"url": ""}, "/url", "1 to 8192 bytes"),
    ({"url": "example.com"}, "/url", "http://"),
    ({"url": "//example.com/"}, "/url", "http://"),
    ({"url": "ftp://example.com/"}, "/url", "http://"),
    ({"url": "file:///etc/passwd"}, "/url", "http://"),
    ({"url": "gopher://127.0.0.1:6379/_FLUSHALL"}, "/url", "http://"),
    ({"url": "javascript:alert(1)"}, "/url", "http://"),
    ({"url": "unix:/var/run/docker.sock"}, "/url", "http://"),
    ({"url": "http:/example.com"}, "/url", "http://"),
    ({"url": "http://"}, "/url", "no host"),
    ({"url": "http:///path"}, "/url", "no host"),
    ({"url": "http://:80/"}, "/url", "no host"),
    ({"url": "http://user:secret@example.com/"}, "/url", "user or password"),
    ({"url": "http://example.com@127.0.0.1/"}, "/url", "user or password"),
    ({"url": "http://example.com\\@127.0.0.1/"}, "/url", "user or password"),
    ({"url": "http://127.0.0.1\\.example.com/"}, "/url", "host may hold"),
    ({"url": "http://127.0.0.1%2f.example.com/"}, "/url", "host may hold"),
    ({"url": "http://%31%32%37.0.0.1/"}, "/url", "host may hold"),
    ({"url": "http://127.1/"}, "/url", "four decimal numbers"),
    ({"url": "http://2130706433/"}, "/url", "four decimal numbers"),
    ({"url": "http://0x7f000001/"}, "/url", "four decimal numbers"),
    ({"url": "http://0177.0.0.1/"}, "/url", "four decimal numbers"),
    ({"url": "http://127.0.0.1./"}, "/url", "four decimal numbers"),
    ({"url": "http://256.0.0.1/"}, "/url", "four decimal numbers"),
    ({"url": "http://[::1/"}, "/url", "bracket"),
    ({"url": "http://[127.0.0.1]/"}, "/url", "IPv6"),
    ({"url": "http://[fe80::1%25eth0]/"}, "/url", "IPv6"),
    ({"url": "http://a..b/"}, "/url", "1 to 63 bytes"),
    ({"url": "http://" + "a" * 64 + ".example/"}, "/url", "1 to 63 bytes"),
    ({"url": "http://" + "a." * 127 + "b/"}, "/url", "253 bytes"),
    ({"url": "http://例え.jp/"}, "/url", "percent-encoded"),
    ({"url": "http://example.com:0/"}, "/url", "1 to 65535"),
    ({"url": "http://example.com:65536/"}, "/url", "1 to 65535"),
    ({"url": "http://example.com:99999/"}, "/url", "1 to 65535"),
    ({"url": "http://example.com:/"}, "/url", "1 to 65535"),
    ({"url": "http://example.com:80a/"}, "/url", "1 to 65535"),
    ({"url": "http://exa mple.com/"}, "/url", "percent-encoded"),
    ({"url": "http://example.com/a\nb"}, "/url", "percent-encoded"),
    ({"url": "http://example.com/\r\nHost: evil"}, "/url", "percent-encoded"),
    ({"url": " http://example.com/"}, "/url", "percent-encoded"),
    ({"method": "BREW"}, "/method", '"PATCH" or "DELETE"'),
    ({"method": "post"}, "/method", '"PATCH" or "DELETE"'),
    ({"method": "CONNECT"}, "/method", '"PATCH" or "DELETE"'),
    ({"method": "HEAD"}, "/method", '"PATCH" or "DELETE"'),
    ({"method": "POST "}, "/method", '"PATCH" or "DELETE"'),
    ({"at": "tomorrow"}, "/at", "with a zone"),
    ({"at": ""}, "/at", "with a zone"),
    ({"at": "2026-01-01T00:00:00"}, "/at", "with a zone"),
    ({"at": "2026-02-30T00:00:00Z"}, "/at", "that exist"),
    ({"at": "2027-02-29T00:00:00Z"}, "/at", "that exist"),
    ({"at": "2026-13-01T00:00:00Z"}, "/at", "that exist"),
    ({"at": "2026-01-01T24:00:00Z"}, "/at", "that exist"),
    ({"at": "2026-01-01T23:60:00Z"}, "/at", "that exist"),
    ({"at": "2026-06-15T23:59:60Z"}, "/at", "that exist"),
    ({"at": "2026-01-01T00:00:00+24:00"}, "/at", "that exist"),
    ({"at": "2026-01-01T00:00:00 Europe/Berlin"}, "/at", "with a zone"),
    ({"at": "2026-01-01T00:00:00[../../etc/passwd]"}, "/at", "with a zone"),
    ({"at": "2026-01-01"}, "/at", "with a zone"),
    ({"at": "2026-01-01 00:00:00Z"}, "/at", "with a zone"),
    ({"at": "1969-12-31T23:59:59Z"}, "/at", "that exist"),
    ({"at": "10000-01-01T00:00:00Z"}, "/at", "that exist"),
    ({"at": "9999-01-01T00:00:00Z"}, "/at", "10 years"),
    ({"in": "soon"}, "/in", "a duration"),
    ({"in": ""}, "/in", "a duration"),
    ({"in": "-5s"}, "/in", "a duration"),
    ({"in": "+5s"}, "/in", "a duration"),
    ({"in": "5"}, "/in", "a duration"),
    ({"in": "5 s"}, "/in", "a duration"),
    ({"in": "1.5h"}, "/in", "a duration"),
    ({"in": "30m1h"}, "/in", "a duration"),
    ({"in": "5min"}, "/in", "a duration"),
    ({"in": "P1M"}, "/in", "a duration"),
    ({"in": "PT"}, "/in", "a duration"),
    ({"in": "-PT5S"}, "/in", "a duration"),
    ({"in": "4000d"}, "/in", "3653d"),
    ({"in": "99999999999999999999s"}, "/in", "3653d"),
    ({"in": "9223372036854775807ms"}, "/in", "3653d"),
    ({"in": "5s", "at": "2031-01-01T00:00:00Z"}, "/in", "At most one"),
    ({"not_after": "never"}, "/not_after", "or a duration"),
    ({"not_after": "-1s"}, "/not_after", "or a duration"),
    ({"not_after": "2020-01-01T00:00:00Z"}, "/not_after", "could never run"),
    ({"not_after": "2020-01-01T00:00:00Z", "at": "2031-01-01T00:00:00Z"}, "/not_after", "could never run"),
    ({"not_after": "2030-12-31T23:59:59.999Z", "at": "2031-01-01T00:00:00Z"}, "/not_after", "could never run"),
    ({"priority": 2.5}, "/priority", "whole number"),
    ({"priority": 1e300}, "/priority", "whole number"),
    ({"priority": -(2**63)}, "/priority", "whole number"),
    ({"priority": 2**32 + 5}, "/priority", "whole number"),
    ({"priority": 2**64 + 5}, "/priority", "whole number"),
    ({"queue": "a b"}, "/queue", "1 to 64"),
    ({"queue": "a/b"}, "/queue", "1 to 64"),
    ({"queue": "../q"}, "/queue", "1 to 64"),
    ({"queue": "grün"}, "/queue", "1 to 64"),
    ({"queue": "a\nb"}, "/queue", "1 to 64"),
    ({"retry": {"max": 1.5}}, "/retry/max", "whole number"),
    ({"retry": {"delay": "-1s"}}, "/retry/delay", "a duration"),
    ({"retry": {"backoff": "linear"}}, "/retry/backoff", '"fixed" or "exponential"'),
    ({"retry": {"jitter": "yes"}}, "/retry/jitter", "true or false"),
    ({"retry": {"jitter": 1}}, "/retry/jitter", "true or false"),
    ({"retry": {"delay": "2s", "max_delay": "1s"}}, "/retry/max_delay", "shorter than delay"),
    ({"success_codes": []}, "/success_codes", "1 to 64"),
    ({"success_codes": ["9xx"]}, "/success_codes", "100 to 599"),
    ({"success_codes": ["0xx"]}, "/success_codes", "100 to 599"),
    ({"success_codes": [-200]}, "/success_codes", "100 to 599"),
    ({"success_codes": ["2x"]}, "/success_codes", "100 to 599"),
    ({"success_codes": ["2XX"]}, "/success_codes", "100 to 599"),
    ({"success_codes": ["20x"]}, "/success_codes", "100 to 599"),
    ({"success_codes": [200.5]}, "/success_codes", "100 to 599"),
    ({"success_codes": [None]}, "/success_codes", "100 to 599"),
    ({"success_codes": [200, [201]]}, "/success_codes", "100 to 599"),
    ({"ttl": "-1s"}, "/ttl", "a duration"),
    ({"on_lost": "shrug"}, "/on_lost", '"retry" or "bury"'),
    ({"lost_max": 0.5}, "/lost_max", "whole number"),
    ({"labels": {"a": 1}}, "/labels/a", "a string"),
    ({"labels": {"a": None}}, "/labels/a", "a string"),
    ({"labels": {"a": {"b": "c"}}}, "/labels/a", "a string"),
    ({"labels": {"": "x"}}, "/labels/", "1 to 64"),
    ({"traceparent": "nonsense"}, "/traceparent", "W3C"),
    ({"traceparent": "00-" + "0" * 32 + "-0123456789abcdef-01"}, "/traceparent", "W3C"),
    ({"traceparent": "00-0123456789abcdef0123456789abcdef-" + "0" * 16 + "-01"}, "/traceparent", "W3C"),
    ({"traceparent": "ff-0123456789abcdef0123456789abcdef-0123456789abcdef-01"}, "/traceparent", "W3C"),
    ({"traceparent": "00-0123456789ABCDEF0123456789ABCDEF-0123456789abcdef-01"}, "/traceparent", "W3C"),
    ({"traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01-extra"}, "/traceparent", "W3C"),
    ({"traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\nX: y"}, "/traceparent", "W3C"),
]

# The same for what says when a task recurs.
WRONG_SCHEDULES = [
    ({"cron": ""}, "/cron", "5 fields"),
    ({"cron": "* * * *"}, "/cron", "this one has 4"),
    ({"cron": "* * * * * * * *"}, "/cron", "this one has 8"),
    ({"cron": "61 * * * *"}, "/cron", "a number from 0 to 59"),
    ({"cron": "* * * * 8"}, "/cron", "0 to 7"),
    ({"cron": "* * * FOO *"}, "/cron", "JAN to DEC"),
    ({"cron": "5/10 * * * *"}, "/cron", "write 5-59/10"),
    ({"cron": "50-10 * * * *"}, "/cron", "write 50-59,0-10"),
    ({"cron": "*/0 * * * *"}, "/cron", "a step is 1 or more"),
    ({"cron": "? * * * *"}, "/cron", "write *"),
    ({"cron": "0 0 1-5W * *"}, "/cron", "such as 15W"),
    ({"cron": "0 0 * * MON#6"}, "/cron", "1 to 5"),
    ({"cron": "0 0 * * L"}, "/cron", "FRI#L"),
    ({"cron": "0 0 +1 * MON"}, "/cron", "front of the day-of-week field"),
    ({"cron": "H(30-10) * * * *"}, "/cron", "such as H(0-29)"),
    ({"cron": "0 0 0 1 1 * 2200"}, "/cron", "1970 to 2199"),
    ({"cron": "@daily\n"}, "/cron", "one line"),
    ({"cron": "@Daily"}, "/cron", "small letters"),
    ({"cron": "@reboot"}, "/cron", "not supported"),
    ({"cron": "@daily", "every": "1h"}, "/every", "At most one of at, in, cron and every"),
    ({"cron": "@daily", "at": "2031-01-01T00:00:00Z"}, "/cron", "At most one of at, in, cron and every"),
    ({"every": "1h", "in": "1h"}, "/every", "At most one of at, in, cron and every"),
    ({"every": "1"}, "/every", "a duration"),
    ({"every": "1M"}, "/every", "a duration"),
    ({"every": "-1h"}, "/every", "a duration"),
    ({"every": "1h", "anchor": "9:00"}, "/anchor", "with a zone"),
    ({"cron": "@daily", "anchor": "2026-01-01T00:00:00Z"}, "/anchor", "with every"),
    ({"cron": "@daily", "timezone": "../../etc/passwd"}, "/timezone", "name of a time zone"),
    ({"cron": "@daily", "timezone": "+02:00"}, "/timezone", "name of a time zone"),
    ({"cron": "@daily", "timezone": "Europe/Berln"}, "/timezone", "did you mean Europe/Berlin?"),
    ({"cron": "@daily", "timezone": "PST"}, "/timezone", "such as Europe/Berlin"),
    ({"cron": "@daily", "exclude": [5]}, "/exclude/0", "a date like"),
    ({"cron": "@daily", "exclude": ["12-25", "02-30"]}, "/exclude/1", "a date like"),
    ({"cron": "@daily", "exclude": ["2026-07-14/2026-07-01"]}, "/exclude/0", "a range like"),
    ({"cron": "@daily", "exclude": ["12-25/12-26"]}, "/exclude/0", "a range like"),
    ({"cron": "@daily", "misfire": "none"}, "/misfire", '"one", "skip" or "all"'),
    ({"cron": "@daily", "misfire_window": "-1s"}, "/misfire_window", "from 0s"),
    ({"cron": "@daily", "overlap": "wait"}, "/overlap", '"allow", "skip", "queue" or "cancel"'),
    ({"cron": "@daily", "max_active": 1}, "/max_active", "overlap of skip, queue or cancel"),
    ({"cron": "@daily", "overlap": "allow", "max_active": 2}, "/max_active", "overlap of skip, queue or cancel"),
    ({"cron": "@daily", "overlap": "skip", "max_active": 1.5}, "/max_active", "whole number"),
    ({"cron": "@daily", "dst_gap": "run"}, "/dst_gap", '"run_after" or "skip"'),
    ({"cron": "@daily", "dst_overlap": "all"}, "/dst_overlap", '"first", "last" or "both"'),
    ({"every": "1h", "dst_gap": "skip"}, "/dst_gap", "with cron"),
    ({"every": "1h", "dst_overlap": "both"}, "/dst_overlap", "with cron"),
    ({"cron": "@daily", "starts_at": "1h"}, "/starts_at", "with a zone"),
    ({"cron": "@daily", "starts_at": "2031-01-01T00:00:00Z", "ends_at": "2030-01-01T00:00:00Z"}, "/ends_at", "after starts_at"),
    ({"cron": "@daily", "starts_at": "2031-01-01T00:00:00Z", "ends_at": "2031-01-01T00:00:00Z"}, "/ends_at", "after starts_at"),
    ({"cron": "@daily", "max_runs": 1.5}, "/max_runs", "whole number"),
    ({"every": "1m", "jitter": "61s"}, "/jitter", "which is 1m here"),
    ({"cron": "*/5 9-17 * * MON-FRI", "jitter": "1h"}, "/jitter", "which is 5m here"),
    ({"cron": "@daily", "not_after": "2031-01-01T00:00:00Z"}, "/not_after", "ends_at"),
    ({"misfire": "one"}, "/misfire", "with cron or every"),
    ({"timezone": "UTC"}, "/timezone", "with cron or every"),
    ({"exclude": ["12-25"]}, "/exclude", "with cron or every"),
    ({"starts_at": "2031-01-01T00:00:00Z"}, "/starts_at", "with cron or every"),
    ({"max_runs": 3}, "/max_runs", "with cron or every"),
    ({"jitter": "5s"}, "/jitter", "with cron or every"),
]

# Schedules without any time to run at.
NEVER = [
    ({"cron": "0 0 30 2 *"}, "/cron", "never fires"),
    ({"cron": "0 0 31 4,6 *"}, "/cron", "never fires"),
    ({"cron": "0 0 0 1 1 * 2020"}, "/cron", "have passed"),
    ({"cron": "@daily", "ends_at": "2020-01-01T00:00:00Z"}, "/ends_at", "have passed"),
    ({"cron": "@yearly", "starts_at": "2031-02-01T00:00:00Z", "ends_at": "2031-03-01T00:00:00Z"}, "/ends_at", "before the first time"),
    ({"every": "1h", "anchor": "2031-01-01T00:00:00Z", "ends_at": "2031-01-01T00:59:59Z"}, "/ends_at", "before the first time"),
    ({"every": "1h", "anchor": "2200-01-01T00:00:00Z"}, "/anchor", "up to the year 2199"),
    ({"cron": "@daily", "starts_at": "2200-01-01T00:00:00Z"}, "/starts_at", "up to the year 2199"),
    ({"cron": "@daily", "exclude": ["1970-01-01/2199-12-31"]}, "/exclude", "excluded"),
    ({"cron": "@yearly", "exclude": ["01-01"]}, "/exclude", "excluded"),
]


def row_id(value):
    return json.dumps(value)[:60] if isinstance(value, dict) else ""


@pytest.mark.parametrize("fields, field, words", WRONG + WRONG_SCHEDULES, ids=row_id)
def test_a_wrong_value_is_422_and_named(unharmed, fields, field, words):
    code = "missing_field" if fields == {"url": None} else "invalid_field"
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, **fields}), 422, code, words=words)
    assert problem["field"] == field


@pytest.mark.parametrize("fields, field, words", NEVER, ids=row_id)
def test_a_schedule_that_never_runs_is_422_and_says_why(unharmed, fields, field, words):
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, **fields}), 422, "cron_never", words=words)
    assert problem["field"] == field


@pytest.mark.parametrize("fields, field, words", WRONG_SCHEDULES + NEVER, ids=row_id)
def test_a_wrong_schedule_neither_takes_a_name_nor_changes_who_has_it(tried, fields, field, words):
    def put(name, document, query=""):
        return tried.api.request("PUT", f"/v1/tasks/by-name/{name}{query}", json.dumps(document), headers={"Content-Type": "application/json"})

    right = put("right", {"url": URL, **RECURS})
    assert right.status in (200, 201), right
    for name, query in (("wrong", ""), ("wrong", "?dry_run=1"), ("right", ""), ("right", "?dry_run=1")):
        assert_problem(put(name, {"url": URL, **fields}, query), 422, ("invalid_field", "cron_never"), field, words)
    assert tried.api.get("/v1/tasks/by-name/wrong").status == 404
    assert tried.api.read("/v1/tasks/by-name/right") == right.json


CODES = list(range(200, 264))

# Every limit: a field, the most (or least) it may be, and the first beyond it.
LIMITS = [
    ("url", "http://127.0.0.1:9/" + "x" * 8173, "http://127.0.0.1:9/" + "x" * 8174),
    ("url", "http://" + ".".join(["a" * 49] * 5) + ".aaa/", "http://" + ".".join(["a" * 49] * 5) + ".aaaa/"),
    ("url", "http://" + "a" * 63 + ".example/", "http://" + "a" * 64 + ".example/"),
    ("url", "http://127.0.0.1:65535/", "http://127.0.0.1:65536/"),
    ("in", "3653d", "3654d"),
    ("in", "315619200s", "315619201s"),
    ("not_after", "36525d", "36526d"),
    ("retry/max", 0, -1),
    ("retry/max", 100, 101),
    ("retry/delay", "24h", "86400001ms"),
    ("retry/delay", "0s", "-0s"),
    ("retry/max_delay", "1d", "86400001ms"),
    ("timeout", "10ms", "9ms"),
    ("timeout", "P1D", "86400001ms"),
    ("success_codes", CODES, CODES + [264]),
    ("success_codes", [100], [99]),
    ("success_codes", [599], [600]),
    ("success_codes", ["100", "599"], ["600"]),
    ("success_codes", ["1xx", "5xx"], ["6xx"]),
    ("priority", 0, -1),
    ("priority", 9, 10),
    ("queue", "q", ""),
    ("queue", "q" * 64, "q" * 65),
    ("sla", "1ms", "0ms"),
    ("sla", "1d", "86400001ms"),
    ("key", "l", ""),
    ("key", "k" * 255, "k" * 256),
    ("key", "ä" * 127 + "x", "ä" * 128),
    ("ttl", "0s", "-1ms"),
    ("ttl", "36525d", "36526d"),
    ("lost_max", 1, 0),
    ("lost_max", 100, 101),
    ("name", "n" * 256, "n" * 257),
    ("name", "😀" * 64, "😀" * 64 + "!"),
    ("name", "", "n" * 100_000),
    ("tracing_id", "t" * 256, "t" * 257),
    ("created_by", "c" * 256, "c" * 257),
    ("labels", {f"l{i}": "v" for i in range(16)}, {f"l{i}": "v" for i in range(17)}),
    ("labels", {"n" * 64: "v"}, {"n" * 65: "v"}),
    ("labels", {"n": "v" * 256}, {"n": "v" * 257}),
    ("cron", "0 0 1 1 *" + " " * 1015, "0 0 1 1 *" + " " * 1016),
    ("every", "1s", "999ms"),
    ("every", "3653d", "3654d"),
    ("misfire_window", "0s", "-1ms"),
    ("misfire_window", "36525d", "36526d"),
    ("max_active", 1, 0),
    ("max_active", 100, 101),
    ("exclude", ["12-25"] * 366, ["12-25"] * 367),
    ("pause_after_failures", 1, 0),
    ("pause_after_failures", 1_000_000, 1_000_001),
    ("max_runs", 1, 0),
    ("max_runs", 2**31 - 1, 2**31),
    ("jitter", "1d", "86400001ms"),
]


@pytest.mark.parametrize("field, within, beyond", LIMITS, ids=lambda value: json.dumps(value, ensure_ascii=False)[:30])
def test_a_limit_holds_to_the_last(tried, field, within, beyond):
    answer = tried.api.post("/v1/tasks", task_with(field, within))
    assert answer.status == 201, answer
    shown = answer.json[field] if "/" not in field else answer.json["retry"][field.split("/")[1]]
    if not isinstance(within, list) and not field in ("timeout", "retry/delay", "sla", "in"):
        assert shown == within
    problem = assert_problem(tried.api.post("/v1/tasks", task_with(field, beyond)), 422, "invalid_field", f"/{field}")
    assert problem["detail"]


def test_the_horizon_holds_to_the_second(tried):
    for seconds, status in ((3653 * 86400, 201), (3653 * 86400 + 1, 422)):
        assert tried.api.post("/v1/tasks", {"url": URL, "in": f"{seconds}s"}).status == status


def test_a_task_without_a_target_misses_its_url(unharmed):
    assert_problem(unharmed.api.post("/v1/tasks", {}), 422, "missing_field", "/url")


TYPOS = [("urll", "url"), ("prioritiy", "priority"), ("time_out", "timeout"), ("header", "headers"), ("URL", "url")]


@pytest.mark.parametrize("typo, meant", TYPOS)
def test_an_unknown_field_is_an_error_with_a_suggestion(unharmed, typo, meant):
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, typo: "x"}), 422, "unknown_field", f"/{typo}")
    assert f'"{meant}"' in problem["detail"]


# Names that nobody would guess at: the pointer is right all the same, and never half a character.
NAMES = {
    "empty": ("", ""),
    "a slash and a tilde": ("a/b~c", "/a~1b~0c"),
    "letters": ("größe", "/größe"),
    "a control character": ("a\tb", "/a\tb"),
    "an escape sequence": ("\x1b[31m", "/\x1b[31m"),
    "of a prototype": ("__proto__", "/__proto__"),
    "in another case": ("Key", "/Key"),
}


@pytest.mark.parametrize("name, field", NAMES.values(), ids=NAMES.keys())
def test_an_unknown_field_is_pointed_at_whatever_it_is_called(unharmed, name, field):
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, name: 1}), 422, "unknown_field")
    assert problem.get("field", "") == field


@pytest.mark.parametrize("name", ["x" * 5000, "ä" * 5000, "😀" * 5000, "/" * 5000])
def test_the_pointer_of_a_very_long_name_is_cut(unharmed, name):
    problem = assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, name: 1}), 422, "unknown_field")
    assert 50 < len(problem["field"].encode()) < 200 and "\ufffd" not in problem["field"]


@pytest.mark.parametrize("inner", ["maximum", "max/", "url"])
def test_an_unknown_field_of_retry_is_named(unharmed, inner):
    pointer = "/retry/" + inner.replace("/", "~1")
    assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, "retry": {inner: 3}}), 422, "unknown_field", pointer)


@pytest.mark.parametrize(
    "fields",
    [{"after": ["t0000000000001"]}, {"kind": "k", "args": {}}, {"artifact": "a1"}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_not_built_yet_is_refused_and_not_ignored(unharmed, fields):
    assert_problem(unharmed.api.post("/v1/tasks", {"url": URL, **fields}), 422, field="/")


def test_a_bulk_of_nothing_but_bad_tasks_stores_nothing(unharmed):
    rows = WRONG + WRONG_SCHEDULES + NEVER
    answer = unharmed.api.post("/v1/tasks", [{"url": URL, **fields} for fields, _, _ in rows])
    assert answer.status == 207, answer
    assert [result["error"]["field"] for result in answer.json["results"]] == [field for _, field, _ in rows]


@pytest.mark.parametrize("change", [{"priority": 9}, {"body": 1}, {"in": "2h"}, {"labels": {"a": "b"}}, {"url": URL + "2"}])
def test_a_key_reused_with_another_body_is_409(tried, change):
    task = {"url": URL, "in": "1h", "key": f"reused with another {next(iter(change))}"}
    first = tried.api.post("/v1/tasks", task)
    assert first.status in (200, 201)
    problem = assert_problem(tried.api.post("/v1/tasks", {**task, **change}), 409, "key_reused", "/key")
    assert first.json["id"] in problem["detail"]
