"""Schedules that never silently stop: planned jobs that are removed from the database behind rota's back come again."""

import contextlib
import pathlib
import shutil
import sqlite3
import urllib.parse

import pytest

from support.events import Events
from support.rota import Rota
from support.times import to_ms
from support.wait import wait_until


OPEN = ("delayed", "ready", "watching")


@pytest.fixture
def execute(request, rota, place, store):
    """Runs SQL on the database as somebody else than rota."""

    def on_sqlite(sql):
        with contextlib.closing(sqlite3.connect(f"{rota.data}/rota.db", timeout=30)) as connection, connection:
            connection.execute(sql)

    def on_postgres(sql):
        schema = urllib.parse.parse_qs(urllib.parse.urlsplit(place["store"]).query)["schema"][0]
        request.getfixturevalue("cluster").sql(f"SET search_path={schema}; {sql}")

    return on_sqlite if store == "sqlite" else on_postgres


def recurring(api, url, **fields):
    answer = api.post("/v1/tasks", {"url": url, **fields})
    assert answer.status == 201, answer
    return answer.json["id"]


def planned(api, task_id):
    """Ids of planned jobs by their instants."""
    return {to_ms(job["nominal_at"]): job["id"] for job in api.jobs(task_id) if job["state"] in OPEN and not job["attempts"]}


def warnings(api, task_id):
    ready = api.get("/readyz")
    assert ready.status == 200
    return [warning["code"] for warning in ready.json["warnings"] if warning["task_id"] == task_id]


def metric(api, name):
    lines = api.get("/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_a_job_that_is_removed_while_it_runs_keeps_others_from_running_only_until_it_ends(rota, target, execute, overlap):
    gate = f"gone-{overlap}"
    task_id = recurring(rota.api, target.url(f"/gate/{gate}"), every="1s", overlap=overlap)
    target.wait_calls(1, path=f"/gate/{gate}")
    wait_until(lambda: [job for job in rota.api.jobs(task_id) if job["state"] == "reserved"], "it is written that it runs")
    execute("DELETE FROM jobs WHERE started_at>0 AND task_id=(SELECT min(task_id) FROM plans)")
    target.open(gate)
    target.wait_calls(3, path=f"/gate/{gate}")
    assert warnings(rota.api, task_id) == ["schedule_missing"]


def test_removed_jobs_are_planned_again_for_their_instants_and_it_is_said(rota, target, execute):
    api = rota.api
    task_id, other = (recurring(api, target.url("/ok"), every="1h", name=name) for name in ("mine", "other"))
    before, others = planned(api, task_id), planned(api, other)
    with Events(rota.where(), f"?task={task_id}") as events:
        events.wait("ready")
        instants = sorted(before)
        execute(f"DELETE FROM jobs WHERE trigger=1 AND nominal_at IN ({instants[0]}, {instants[3]})"
                f" AND task_id=(SELECT min(task_id) FROM plans)")
        wait_until(lambda: sorted(planned(api, task_id)) == instants, "they are planned again")
        (told,) = events.wait("schedule_missing")
        assert told.data["task_id"] == task_id and "2 planned jobs" in told.data["reason"]
    after = planned(api, task_id)
    assert [after[at] == before[at] for at in instants] == [False, True, True, False, True]
    assert warnings(api, task_id) == ["schedule_missing"] and warnings(api, other) == []
    assert metric(api, "rota_schedule_jobs_missing_total") == 2
    assert planned(api, other) == others


def test_a_schedule_whose_planned_jobs_are_all_removed_goes_on(rota, target, execute):
    task_id = recurring(rota.api, target.url("/ok/tick"), every="2s")
    target.wait_calls(1, path="/ok/tick")
    execute("DELETE FROM jobs WHERE trigger=1 AND state<=2")
    target.wait_calls(4, path="/ok/tick")
    assert warnings(rota.api, task_id) == ["schedule_missing"]
    wait_until(lambda: len(planned(rota.api, task_id)) >= 4)
    nominals = [call.header("Rota-Nominal-At") for call in target.calls(path="/ok/tick")]
    assert len(set(nominals)) == len(nominals), "an instant was called twice"


def test_a_job_that_was_cancelled_by_hand_does_not_come_again(rota, target, execute):
    api = rota.api
    task_id = recurring(api, target.url("/ok"), every="1h")
    before = planned(api, task_id)
    instants = sorted(before)
    assert api.post(f"/v1/jobs/{before[instants[1]]}/cancel").status == 200
    execute(f"DELETE FROM jobs WHERE trigger=1 AND nominal_at={instants[2]}")
    wait_until(lambda: warnings(api, task_id), "the removal is noticed")
    assert sorted(planned(api, task_id)) == [at for at in instants if at != instants[1]]


def test_a_paused_task_gets_its_removed_jobs_back(rota, target, execute):
    api = rota.api
    task_id = recurring(api, target.url("/ok"), every="1h")
    before = sorted(planned(api, task_id))
    assert api.post(f"/v1/tasks/{task_id}/pause").status == 200
    execute(f"DELETE FROM jobs WHERE trigger=1 AND nominal_at>{before[1]}")
    wait_until(lambda: warnings(api, task_id), "the removal is noticed")
    wait_until(lambda: sorted(planned(api, task_id)) == before, "they are planned again")


def test_a_zone_that_is_gone_is_named_and_the_planned_jobs_run(place, target, tmp_path):
    zones = tmp_path / "zones"
    (zones / "Europe").mkdir(parents=True)
    system = pathlib.Path("/usr/share/zoneinfo")
    shutil.copy(system / "Europe/Berlin", zones / "Europe/Berlin")
    (zones / "tzdata.zi").write_text("# version 2025a\nZ Europe/Berlin 1 - CET\n")
    rota = Rota(**place, env={"TZDIR": str(zones)})
    rota.start()
    try:
        task_id = recurring(rota.api, target.url("/ok/zone"), cron="*/5 * * * * *", timezone="Europe/Berlin")
        rota.stop()
        (zones / "tzdata.zi").write_text("# version 2025b\nZ Europe/Paris 1 - CET\n")
        rota.start()
        wait_until(lambda: warnings(rota.api, task_id) == ["zone_missing"], "the zone is named")
        assert metric(rota.api, "rota_schedule_zones_missing") == 1
        target.wait_calls(2, path="/ok/zone")
    finally:
        rota.close()
