"""A database of the release before goes on: what was planned is planned, and what was submitted is known by its key."""

import json
import pathlib
import re
import sqlite3
import subprocess

import pytest

from support.client import first_job_id
from support.rota import Rota, scratch_dir
from support.wait import wait_until

BEFORE = pathlib.Path(__file__).parent / "before"
TASKS = json.loads((BEFORE / "tasks.json").read_text())


def run_in(cluster, schema, text):
    """What psql says of it as the role that owns the schema, and whether it went well."""
    return subprocess.run([*cluster.psql(user="rota"), "-f", "-"], input=re.sub(r"\brota\b", schema, text), text=True,
                          capture_output=True)


@pytest.fixture
def left_open(store, request):
    """A server on what the release before left, and a way to look into its tables."""
    text = (BEFORE / f"{store}.sql").read_text()
    if store == "sqlite":
        data = pathlib.Path(scratch_dir()) / "data"
        data.mkdir()
        with sqlite3.connect(data / "rota.db") as database:
            database.executescript(text)
        yield Rota(data=data), lambda sql: sqlite3.connect(data / "rota.db").execute(sql).fetchone()[0]
        return
    cluster = request.getfixturevalue("cluster")
    with cluster.new_schema() as schema:
        run_in(cluster, schema, text).check_returncode()
        yield Rota(store=cluster.url(schema)), lambda sql: int(cluster.sql(f"SET search_path={schema}; {sql}"))


@pytest.fixture
def rota(left_open):
    rota = left_open[0]
    rota.start()
    yield rota
    rota.close()


def submit_again(rota, key):
    answer = rota.api.post("/v1/tasks", TASKS[key])
    assert answer.status == 200, answer
    return answer.json


@pytest.mark.parametrize("key, state", [("plain", "active"), ("full", "active"), ("cancelled", "cancelled")])
def test_a_key_of_then_still_leads_to_its_task(rota, key, state):
    task = submit_again(rota, key)
    assert (task["state"], task["key"]) in ((state, key), ("done", key))  # what has ended is not kept for ever
    if state == "active":
        assert rota.api.task(task["id"]) == task and task["job"]["state"] == "delayed"


def test_another_body_is_still_another_body(rota):
    answer = rota.api.post("/v1/tasks", {**TASKS["plain"], "priority": 6})
    assert (answer.status, answer.json["code"]) == (409, "key_reused")


def test_what_ran_of_a_task_that_had_been_deleted_is_not_called_again(rota, left_open):
    _, ask = left_open
    task = submit_again(rota, "running")
    assert (task["state"], task["job"]) == ("done", None), "when it was deleted is not known"
    assert rota.api.get(f"/v1/tasks/{task['id']}").status == 404
    assert rota.api.get(f"/v1/jobs/{first_job_id(task['id'])}").status == 404
    assert first_job_id(task["id"]) not in [job["id"] for job in rota.api.read("/v1/jobs")["items"]]
    wait_until(lambda: ask("SELECT count(*) FROM jobs WHERE tenant=0 AND state<5") == 0, "it has ended")
    assert ask("SELECT count(*) FROM attempts WHERE number>1") == 0
    assert ask("SELECT count(*) FROM keys WHERE key='running' AND loose AND until>0") == 1, "its key goes, too, in a while"


def test_what_waits_in_queues_of_then_is_called_and_so_is_what_comes_to_them(rota, left_open):
    _, ask = left_open
    assert ask("SELECT count(*) FROM lanes WHERE dispatch=1") == 2
    task = submit_again(rota, "plain")
    assert rota.api.post(f"/v1/tasks/{task['id']}/run").status == 200
    wait_until(lambda: rota.api.first_job(task["id"])["attempts"], "it was tried, though nobody listens there any more")
    new = rota.api.post("/v1/tasks", {"url": "http://127.0.0.1:18099/", "retry": {"max": 0}}).json
    rota.api.finished(new["id"])
    assert ask("SELECT count(*) FROM lanes WHERE queue='default'") == 1


def test_queues_of_then_can_be_deleted(rota):
    """Once nothing of them is left that has not ended: also what had been deleted while it ran."""
    api = rota.api
    assert {item["queue"] for item in api.read("/v1/queues")["items"]} == {"default", "other"}
    bulk = api.post("/v1/bulk", {"action": "cancel", "filter": {"state": "active"}}).json
    wait_until(lambda: api.read(f"/v1/bulk/{bulk['id']}")["state"] == "done", "all are cancelled")
    for queue in ("default", "other"):
        wait_until(lambda: api.request("DELETE", f"/v1/queues/{queue}").status == 204, "it is deleted")
    assert api.read("/v1/queues")["items"] == []
    assert submit_again(rota, "cancelled")["key"] == "cancelled"
    assert api.read("/v1/queues")["items"] == [], "nothing was added by a key that is known"


@pytest.fixture
def cluster_of_before(cluster):
    """A cluster, and a schema in it as the release before left it."""
    with cluster.new_schema() as schema:
        run_in(cluster, schema, (BEFORE / "postgres.sql").read_text()).check_returncode()
        yield cluster, schema


def test_a_server_of_then_that_still_runs_writes_no_job_any_more(cluster_of_before):
    cluster, schema = cluster_of_before
    writes = (BEFORE / "writes.sql").read_text().splitlines()
    for write in writes:
        done = run_in(cluster, schema, write)
        assert done.returncode == 0, ("it is what the release before could write with", done.stderr)
    rota = Rota(store=cluster.url(schema))
    rota.start()
    for write in writes:
        done = run_in(cluster, schema, write)
        assert 'of relation "counts" does not exist' in done.stderr, (write[:100], done.stderr)
    rota.close()
