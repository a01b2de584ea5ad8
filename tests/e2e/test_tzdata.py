"""Time zones that change under a running server: plans follow a newer tzdata, and keep what vanished."""

import datetime
import json

import pytest

from support.events import Events
from support.recurring import ahead, patch, recurring, steer
from support.rota import Rota
from support.times import to_ms
from support.wait import wait_until
from support.zoneinfo import Tzdata

HOUR = 3_600_000
NOTICED_S = 60  # it is looked for every 10 s, and twice


def daily():
    """Every day at a time of day that is hours away from now, in whatever zone the tests have."""
    hour = (datetime.datetime.now(datetime.timezone.utc).hour + 12) % 24
    return f"0 {hour} * * *"


def instants(api, task_id):
    return [to_ms(job["nominal_at"]) for job in ahead(api, task_id)]


def warnings(api, task_id):
    return [warning["code"] for warning in api.get("/readyz").json["warnings"] if warning["task_id"] == task_id]


def metric(api, name):
    lines = api.get("/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))


@pytest.fixture
def tzdata(tmp_path):
    return Tzdata(tmp_path / "zones", "2025a", Here=1, There=1)


@pytest.fixture
def server(place, tzdata):
    rota = Rota(**place, env=tzdata.env)
    rota.start()
    yield rota
    rota.close()


def wait_moved(api, task_id, to):
    wait_until(lambda: instants(api, task_id) == to, "the planned jobs follow", timeout=NOTICED_S)


def test_planned_jobs_move_with_their_zone_and_others_stay(server, tzdata, target):
    api = server.api
    fields = {"moved": {"cron": daily(), "timezone": "Test/Here"}, "other": {"cron": daily(), "timezone": "Test/There"},
              "utc": {"cron": daily()}, "every": {"every": "1d", "timezone": "Test/Here"}}
    ids = {name: recurring(api, target.url("/ok"), **given)["id"] for name, given in fields.items()}
    before = {name: ahead(api, task_id) for name, task_id in ids.items()}
    paused = recurring(api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"]
    steer(api, paused, "pause")
    cancelled = before["other"][2]["id"]
    assert api.post(f"/v1/jobs/{cancelled}/cancel").status == 200
    old = instants(api, ids["moved"])
    tzdata.install("2025b", Here=3, There=1)
    wait_moved(api, ids["moved"], [at - 2 * HOUR for at in old])
    wait_moved(api, paused, [at - 2 * HOUR for at in old])
    assert [job["id"] for job in ahead(api, ids["moved"])] == [job["id"] for job in before["moved"]]
    assert api.task(paused)["state"] == "paused"
    wait_until(lambda: "all plans follow tzdata 2025b" in server.log_text(), "the walk is over", timeout=NOTICED_S)
    for name in ("utc", "every"):
        assert ahead(api, ids[name]) == before[name] and api.task(ids[name])["version"] == 1
    assert [job["id"] for job in ahead(api, ids["other"])] == [job["id"] for job in before["other"] if job["id"] != cancelled]


def test_a_newer_tzdata_is_noticed_at_the_start(server, tzdata, target):
    task_id = recurring(server.api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"]
    old = instants(server.api, task_id)
    server.stop()
    tzdata.install("2025b", Here=2)
    server.start()
    wait_moved(server.api, task_id, [at - HOUR for at in old])


def test_plans_follow_after_a_death_in_between(server, tzdata, target):
    tasks = [recurring(server.api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"] for _ in range(3)]
    old = instants(server.api, tasks[0])
    server.kill()
    tzdata.install("2025b", Here=2)
    server.start(crash="store.before_commit:4", ready=False)
    wait_until(server.dead, "it dies at one of its first writes")
    server.forget()
    server.start()
    for task_id in tasks:
        wait_moved(server.api, task_id, [at - HOUR for at in old])
        jobs = [job for job in server.api.jobs(task_id) if job["state"] != "cancelled"]
        assert len(jobs) == len({job["nominal_at"] for job in jobs}) == 5


def test_a_run_whose_new_time_has_just_passed_is_not_lost(place, target, tmp_path):
    tzdata = Tzdata(tmp_path / "zones", "2025a", Here=0)
    rota = Rota(**place, env=tzdata.env)
    rota.start()
    try:
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)
        task_id = recurring(rota.api, target.url("/ok"), cron=f"{soon.minute} {soon.hour} * * *", timezone="Test/Here")["id"]
        first, *old = instants(rota.api, task_id)
        rota.stop()
        tzdata.install("2025b", Here=1)
        rota.start()
        moved = [at - HOUR for at in (*old, old[-1] + 24 * HOUR)]
        wait_moved(rota.api, task_id, [first, *moved])
    finally:
        rota.close()


def test_a_change_by_hand_goes_on_with_what_was_moved(server, tzdata, target):
    task_id = recurring(server.api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"]
    old = instants(server.api, task_id)
    tzdata.install("2025b", Here=2, There=1)
    wait_moved(server.api, task_id, [at - HOUR for at in old])
    assert patch(server.api, task_id, {"timezone": "Test/There"}).status == 200
    assert instants(server.api, task_id) == old


def test_a_zone_that_vanishes_is_named_until_it_is_back(server, tzdata, target):
    api = server.api
    task_id, other = (recurring(api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"] for _ in range(2))
    old = instants(api, task_id)
    with Events(server.where(), "?type=zone_missing") as events:
        events.wait("ready")
        tzdata.install("2025b", There=1)
        wait_until(lambda: warnings(api, task_id) == ["zone_missing"] == warnings(api, other), "both are named", timeout=NOTICED_S)
        told = events.wait("zone_missing", count=2)
        assert {event.data["task_id"] for event in told} == {task_id, other}
    assert metric(api, "rota_schedule_zones_missing") == 2
    assert instants(api, task_id) == old
    server.stop()
    server.start()
    wait_until(lambda: warnings(api, task_id) == ["zone_missing"], "it is named after a restart, too")
    assert instants(api, task_id) == old
    tzdata.install("2025c", Here=2, There=1)
    wait_moved(api, task_id, [at - HOUR for at in old])
    wait_until(lambda: not warnings(api, task_id) and not warnings(api, other), "the warnings are gone", timeout=NOTICED_S)
    assert metric(api, "rota_schedule_zones_missing") == 0


@pytest.mark.stores("postgres")
def test_a_node_with_an_older_tzdata_moves_nothing_back(place, tzdata, tmp_path, target):
    newer = Tzdata(tmp_path / "newer", "2025b", Here=2)
    nodes = [Rota(**place, env=env) for env in (tzdata.env, newer.env)]
    try:
        nodes[0].start()
        task_id = recurring(nodes[0].api, target.url("/ok"), cron=daily(), timezone="Test/Here")["id"]
        old = instants(nodes[0].api, task_id)
        nodes[1].start()
        wait_moved(nodes[1].api, task_id, [at - HOUR for at in old])
        version = nodes[1].api.task(task_id)["version"]
        nodes[0].stop()
        nodes[0].start()
        wait_until(lambda: "is older than 2025b" in nodes[0].log_text(), "the older one says so", timeout=NOTICED_S)
        assert instants(nodes[0].api, task_id) == [at - HOUR for at in old]
        assert nodes[0].api.task(task_id)["version"] == version
        tzdata.install("2025b", Here=2)
        wait_until(lambda: nodes[0].log_text().count("all plans follow tzdata 2025b") == 1, "it looks at what it planned", timeout=NOTICED_S)
        assert nodes[0].api.task(task_id)["version"] == version
    finally:
        for node in nodes:
            node.close()


class TestTzdiff:
    """What another tzdata would move, without any server having it."""

    @pytest.fixture
    def tasks(self, server, target):
        ids = [recurring(server.api, target.url("/ok"), name=zone, cron=daily(), timezone=f"Test/{zone}")["id"] for zone in ("Here", "There")]
        recurring(server.api, target.url("/ok"), cron=daily())
        recurring(server.api, target.url("/ok"), every="1d")
        return ids

    def test_what_moves_is_listed(self, server, tasks, tmp_path):
        other = Tzdata(tmp_path / "other", "2026a", Here=2, There=1)
        shown = server.cli("cron", "tzdiff", "--zoneinfo", str(other.folder), "-o", "json")
        assert shown.returncode == 0, shown.stderr
        rows = json.loads(shown.stdout)
        old = instants(server.api, tasks[0])
        assert [(row["task_id"], row["name"], row["timezone"]) for row in rows] == 5 * [(tasks[0], "Here", "Test/Here")]
        assert [(to_ms(row["from"]), to_ms(row["to"])) for row in rows] == [(at, at - HOUR) for at in old]
        assert "tzdata 2026a moves planned runs: 5, of tasks: 1 (of 2 in time zones)" in shown.stderr
        lines = server.cli("cron", "tzdiff", "--zoneinfo", str(other.folder), "-o", "jsonl").stdout.splitlines()
        assert [json.loads(line) for line in lines] == rows
        text = server.cli("cron", "tzdiff", env=other.env).stdout
        assert tasks[0] in text and tasks[1] not in text and rows[0]["to"] in text
        assert instants(server.api, tasks[0]) == old

    def test_it_says_what_the_server_does(self, server, tasks, tzdata, tmp_path):
        other = Tzdata(tmp_path / "other", "2026a", Here=4, There=1)
        told = json.loads(server.cli("cron", "tzdiff", "--zoneinfo", str(other.folder), "-o", "json").stdout)
        tzdata.install("2026a", Here=4, There=1)
        wait_moved(server.api, tasks[0], [to_ms(row["to"]) for row in told])

    def test_nothing_moves(self, server, tasks, tzdata):
        shown = server.cli("cron", "tzdiff", "--zoneinfo", str(tzdata.folder))
        assert (shown.returncode, shown.stdout) == (0, "")
        assert "tzdata 2025a moves no planned run (tasks in time zones: 2)" in shown.stderr
        assert json.loads(server.cli("cron", "tzdiff", "--zoneinfo", str(tzdata.folder), "-o", "json").stdout) == []

    def test_a_zone_that_the_other_does_not_have(self, server, tasks, tmp_path):
        other = Tzdata(tmp_path / "other", "2026a", There=1)
        (row,) = json.loads(server.cli("cron", "tzdiff", "--zoneinfo", str(other.folder), "-o", "json").stdout)
        assert row["task_id"] == tasks[0] and row["to"] is None and row["note"] == "tzdata 2026a does not have the time zone Test/Here"

    def test_what_cannot_be_used_is_refused(self, server, tzdata):
        for args in (["--zoneinfo", "/nowhere"], ["--count", "3"], ["too-much"]):
            assert server.cli("cron", "tzdiff", *args).returncode == 2
        assert server.cli("cron", "preview", "* * * * *", "--zoneinfo", str(tzdata.folder)).returncode == 2
