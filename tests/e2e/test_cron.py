"""What a cron pattern means, as the server and the command line say it; and what becomes of a crontab."""

import json
import tomllib
import urllib.parse

import pytest


def preview(api, **query):
    return api.get("/v1/cron/preview?" + urllib.parse.urlencode(query))


def runs(answer):
    return [run["at"] for run in answer.json["runs"]]


def test_the_next_runs_are_shown_in_utc_and_by_the_clocks_of_the_zone(shared_api):
    answer = preview(shared_api, cron="30 2 * * *", timezone="Europe/Berlin", **{"from": "2026-03-28T00:00:00Z"}, count=3)
    assert answer.status == 200
    assert answer.json == {
        "description": "at 02:30 every day",
        "runs": [{"at": "2026-03-28T01:30:00.000Z", "local": "2026-03-28T02:30:00+01:00"},
                 {"at": "2026-03-29T01:00:00.000Z", "local": "2026-03-29T03:00:00+02:00",
                  "note": "the clocks go forward past its time: it runs right after"},
                 {"at": "2026-03-30T00:30:00.000Z", "local": "2026-03-30T02:30:00+02:00"}],
        "excluded": []}


def test_of_a_task_its_own_schedule_is_shown(shared_api, target):
    task = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "cron": "H 3 * * *", "timezone": "Europe/Berlin", "exclude": ["12-25"]}).json
    answer = preview(shared_api, task=task["id"], count=5)
    planned = sorted(job["nominal_at"] for job in shared_api.jobs(task["id"]))
    assert len(planned) == 5 and runs(answer) == planned
    christmas = preview(shared_api, task=task["id"], count=1, **{"from": "2030-12-24T12:00:00Z"}).json
    assert christmas["runs"][0]["at"].startswith("2030-12-26") and len(christmas["excluded"]) == 1
    every = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "every": "90m"}).json
    answer = preview(shared_api, task=every["id"], count=1)
    assert (answer.json["description"], runs(answer)) == ("every 90m", [every["next_at"]])


def test_a_preview_says_that_runs_are_put_off(shared_api, target):
    task = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "cron": "0 3 * * *", "jitter": "10m"}).json
    assert preview(shared_api, task=task["id"]).json["description"] == "at 03:00 every day, each run put off by up to 10m"


@pytest.mark.parametrize("query, status, field", [
    ({"task": "t0000000000001"}, 404, "task"), ({"task": "nonsense"}, 404, "task"),
    ({"task": "t0000000000001", "cron": "* * * * *"}, 422, "cron"), ({"task": "t0000000000001", "timezone": "UTC"}, 422, "timezone")])
def test_a_task_that_cannot_be_shown_is_refused(shared_api, query, status, field):
    answer = preview(shared_api, **query)
    assert (answer.status, answer.json["field"]) == (status, field)


def test_a_task_that_runs_once_has_no_schedule(shared_api, target):
    task = shared_api.post("/v1/tasks", {"url": target.url("/ok"), "in": "1h"}).json
    answer = preview(shared_api, task=task["id"])
    assert answer.status == 422 and "runs once" in answer.json["detail"]


def test_the_command_line_shows_the_schedule_of_a_task(shared, target):
    task_id = shared.cli("submit", target.url("/ok"), "--every", "1h").stdout.strip()
    assert shared.cli("cron", "preview", "--task", task_id).stdout.startswith("every 1h\n\n")
    assert shared.cli("cron", "preview").returncode == 2 == shared.cli("cron", "preview", "* * * * *", "--task", task_id).returncode


def test_from_is_exclusive_and_ten_runs_are_shown_by_default(shared_api):
    answer = preview(shared_api, cron="0 * * * *", **{"from": "2026-01-01T00:00:00Z"})
    assert runs(answer) == [f"2026-01-01T{hour:02}:00:00.000Z" for hour in range(1, 11)]
    assert runs(preview(shared_api, cron="0 * * * *", **{"from": "2025-12-31T23:59:59.999Z"}, count=1)) == ["2026-01-01T00:00:00.000Z"]


@pytest.mark.parametrize("gap, first", [("run_after", "2026-03-29T01:00:00.000Z"), ("skip", "2026-03-30T00:30:00.000Z")])
def test_what_becomes_of_a_time_that_is_skipped_can_be_chosen(shared_api, gap, first):
    answer = preview(shared_api, cron="30 2 * * *", timezone="Europe/Berlin", dst_gap=gap, **{"from": "2026-03-28T12:00:00Z"}, count=1)
    assert runs(answer) == [first]


@pytest.mark.parametrize("overlap, wanted", [("first", ["00:30"]), ("last", ["01:30"]), ("both", ["00:30", "01:30"])])
def test_what_becomes_of_a_time_that_comes_twice_can_be_chosen(shared_api, overlap, wanted):
    answer = preview(shared_api, cron="30 2 25 10 *", timezone="Europe/Berlin", dst_overlap=overlap, **{"from": "2026-10-01T00:00:00Z"},
                     count=len(wanted))
    assert runs(answer) == [f"2026-10-25T{time}:00.000Z" for time in wanted]
    assert all("twice" in run["note"] for run in answer.json["runs"])


def test_excluded_days_are_shown_apart(shared_api):
    answer = preview(shared_api, cron="0 12 * * *", exclude="2026-12-25,12-31,2026-12-27/2026-12-28", **{"from": "2026-12-24T13:00:00Z"}, count=4)
    assert runs(answer) == [f"2026-12-{day}T12:00:00.000Z" for day in (26, 29, 30)] + ["2027-01-01T12:00:00.000Z"]
    assert [run["at"] for run in answer.json["excluded"]] == [f"2026-12-{day}T12:00:00.000Z" for day in (25, 27, 28, 31)]


def test_an_excluded_half_year_of_seconds_is_passed_over(shared_api):
    answer = preview(shared_api, cron="* * * * * *", exclude="2026-01-01/2026-06-30", **{"from": "2026-01-01T00:00:00Z"}, count=2)
    assert runs(answer) == ["2026-07-01T00:00:00.000Z", "2026-07-01T00:00:01.000Z"]
    assert len(answer.json["excluded"]) == 1000


def test_a_search_through_nothing_but_excluded_days_ends(shared_api):
    days = [f"{month:02}-{day:02}" for month, last in enumerate([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], 1) for day in range(1, last + 1)]
    answer = preview(shared_api, cron="0 0 * * *", exclude=",".join(days))
    assert (answer.status, answer.json["runs"], len(answer.json["excluded"])) == (200, [], 1000)
    answer = preview(shared_api, cron="0 0 * * *", exclude="2026-01-01/2036-12-31", **{"from": "2026-01-01T00:00:00Z"}, count=1)
    assert runs(answer) == ["2037-01-01T00:00:00.000Z"]


def test_a_pattern_that_has_come_to_its_end_has_no_runs(shared_api):
    answer = preview(shared_api, cron="0 0 0 1 1 * 2020")
    assert (answer.status, answer.json["runs"]) == (200, [])


def test_a_name_spreads_an_h_and_always_alike(shared_api):
    once, again, other = (preview(shared_api, cron="H H * * *", name=name, **{"from": "2026-01-01T00:00:00Z"}, count=1)
                          for name in ("nightly", "nightly", "weekly"))
    assert runs(once) == runs(again) != runs(other)


@pytest.mark.parametrize("query, code, field", [
    ({}, "invalid_field", "cron"),
    ({"cron": ""}, "invalid_field", "cron"),
    ({"cron": "61 * * * *"}, "invalid_field", "cron"),
    ({"cron": "@reboot"}, "invalid_field", "cron"),
    ({"cron": "0 0 30 2 *"}, "cron_never", "cron"),
    ({"cron": "H * * * *"}, "invalid_field", "name"),
    ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, "invalid_field", "timezone"),
    ({"cron": "* * * * *", "timezone": "../../etc/passwd"}, "invalid_field", "timezone"),
    ({"cron": "* * * * *", "timezone": ""}, "invalid_field", "timezone"),
    ({"cron": "* * * * *", "count": "0"}, "invalid_field", "count"),
    ({"cron": "* * * * *", "count": "1001"}, "invalid_field", "count"),
    ({"cron": "* * * * *", "from": "tomorrow"}, "invalid_field", "from"),
    ({"cron": "* * * * *", "exclude": "2026-02-30"}, "invalid_field", "exclude"),
    ({"cron": "* * * * *", "exclude": ",".join(["12-25"] * 367)}, "invalid_field", "exclude"),
    ({"cron": "* * * * *", "dst_gap": "maybe"}, "invalid_field", "dst_gap"),
    ({"cron": "* * * * *", "dst_overlap": "skip"}, "invalid_field", "dst_overlap"),
    ({"cron": "* * * * *", "zone": "UTC"}, "unknown_field", "zone"),
])
def test_what_cannot_be_shown_is_refused_by_its_field(shared_api, query, code, field):
    answer = preview(shared_api, **query)
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, code, field)


def test_the_command_line_shows_a_sentence_and_a_table(rota):
    done = rota.cli("cron", "preview", "30 2 * * *", "--timezone", "Europe/Berlin", "--from", "2026-03-28T00:00:00Z", "-n", "2",
                    "--exclude", "2026-03-30")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "at 02:30 every day", "",
        "local                      UTC",
        "2026-03-28T02:30:00+01:00  2026-03-28T01:30:00.000Z",
        "2026-03-29T03:00:00+02:00  2026-03-29T01:00:00.000Z  the clocks go forward past its time: it runs right after"]
    asked = json.loads(rota.cli("cron", "preview", "0 0 * * *", "-n", "1", "-o", "json").stdout)
    assert len(asked["runs"]) == 1


def test_a_pattern_without_quotes_is_explained(rota):
    done = rota.cli("cron", "preview", "30", "2", "*", "*", "*")
    assert done.returncode == 2 and "quotes" in done.stderr


CRONTAB = """MAILTO=me@example.com
*/5 * * * * curl -fsS 'https://example.com/tick?a=1&b=2' >/dev/null 2>&1
CRON_TZ=Europe/Berlin
30 2 * * MON-FRI wget -qO- --post-data=x https://example.com/night
"""


def test_a_crontab_becomes_a_file_of_tasks(rota, tmp_path):
    (tmp_path / "tab").write_text(CRONTAB)
    done = rota.cli("cron", "import", str(tmp_path / "tab"), "--timezone", "Asia/Tokyo")
    assert done.returncode == 0
    tasks = tomllib.loads(done.stdout)["task"]
    assert tasks == [
        {"name": "example.com-tick", "cron": "*/5 * * * *", "timezone": "Asia/Tokyo", "url": "https://example.com/tick?a=1&b=2", "method": "GET"},
        {"name": "example.com-night", "cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin", "url": "https://example.com/night", "method": "POST",
         "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "x"}]
    assert f"{tmp_path}/tab:1: MAILTO is left out" in done.stderr
    assert done.stderr.endswith("2 taken, 0 left out\n")


def test_a_crontab_comes_from_stdin_and_what_it_cannot_take_shows_in_the_exit_code(rota):
    done = rota.cli("cron", "import", "-", input="@daily curl http://h/a\n@reboot curl http://h\n@daily curl $X\n")
    assert done.returncode == 3
    assert [task["name"] for task in tomllib.loads(done.stdout)["task"]] == ["h-a"]
    assert "stdin:2: left out: @reboot" in done.stderr and "stdin:3: left out: a variable" in done.stderr
    assert "no time zone is named" in done.stderr


@pytest.mark.parametrize("args, words", [
    (["import"], "something is missing"),
    (["import", "/no/such/file"], "cannot be read: No such file"),
    (["import", "/"], "cannot be read: Is a directory"),
    (["import", "-", "x"], "one argument too many"),
    (["import", "-", "--count", "3"], "--count is not for import"),
    (["imprt", "-"], "rota cron import"),
])
def test_an_import_that_is_asked_for_wrongly_is_explained(rota, args, words):
    done = rota.cli("cron", *args)
    assert done.returncode == 2 and words in done.stderr and not done.stdout
