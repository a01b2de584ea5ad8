"""A backup of a live database is whole, and a server started on it goes on from there."""

import os
import sqlite3

import pytest

from support.rota import Rota


@pytest.mark.stores("sqlite")
def test_a_copy_made_under_load_is_one_moment_and_can_be_served(api, target, tmp_path):
    before = api.submit_many([{"url": target.url("/ok/backup"), "in": "1h"}] * 2000)
    done = api.submit(target.url("/ok/done"))
    api.finished(done["id"])
    answer = api.get("/v1/backup")
    assert (answer.status, answer.type) == (200, "application/octet-stream")
    after = api.submit(target.url("/ok/after"), **{"in": "1h"})
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "rota.db").write_bytes(answer.body)
    with sqlite3.connect(copy / "rota.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other = Rota(data=str(copy))
    other.start()
    try:
        states = other.api.read("/v1/stats")["states"]
        assert (states["delayed"], states["success"]) == (len(before), 1)
        assert other.api.task(before[0])["state"] == "active"
        assert other.api.get(f"/v1/tasks/{after['id']}").status == 404
        assert other.api.post(f"/v1/tasks/{before[0]}/run").status == 200
        assert other.api.finished(before[0])["state"] == "success"
    finally:
        other.close()


@pytest.mark.stores("sqlite")
def test_nothing_is_left_behind(rota, api):
    api.get("/v1/backup")
    assert not [name for name in os.listdir(rota.data) if "backup" in name]


@pytest.mark.stores("postgres")
def test_postgres_has_its_own_tools(shared_api):
    answer = shared_api.get("/v1/backup")
    assert (answer.status, answer.json["code"]) == (409, "unsupported")
    assert "pg_dump" in answer.json["detail"]
