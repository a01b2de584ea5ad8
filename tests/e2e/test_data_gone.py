"""Files that are taken away from under a live server: it notices with its next beat, takes nothing more, and ends with words."""

import os
import shutil
import threading

import pytest

from support.client import Api, NOT_REACHED
from support.rota import Rota
from support.wait import wait_until

pytestmark = pytest.mark.stores("sqlite")
LOST = 71


def submits_until_the_end(rota, target):
    """How many were acknowledged until it ended; nothing else than a refusal came between."""
    acknowledged = 0
    api = Api(rota.where)

    def ended():
        nonlocal acknowledged
        try:
            answer = api.post("/v1/tasks", {"url": target.url("/ok"), "in": "1h"})
            assert answer.status == 201 or answer.json["code"] == "store_lost", answer
            acknowledged += answer.status == 201
        except NOT_REACHED:
            pass
        return rota.dead()

    wait_until(ended, "the server has ended", interval=0.001)
    return acknowledged


def assert_ended_with_words(rota, path):
    assert rota.forget() == LOST
    log = rota.log_text()
    assert f"{path} was removed or replaced, or moved away" in log
    assert "restore a backup" in log


def test_a_data_directory_that_is_removed_ends_the_server(rota, api, target):
    api.submit(target.url("/ok"), **{"in": "1h"})
    shutil.rmtree(rota.data)
    submits_until_the_end(rota, target)
    assert_ended_with_words(rota, rota.data)
    rota.start()
    assert sum(rota.api.read("/v1/stats")["states"].values()) == 0


def test_a_data_directory_that_is_moved_has_everything_that_was_acknowledged(rota, api, target):
    api.submit(target.url("/ok"), **{"in": "1h"})
    elsewhere = rota.data + "-elsewhere"
    os.rename(rota.data, elsewhere)
    acknowledged = submits_until_the_end(rota, target)
    assert_ended_with_words(rota, rota.data)
    assert not os.path.exists(rota.data)
    other = Rota(data=elsewhere)
    other.start()
    try:
        assert other.api.read("/v1/stats")["states"]["delayed"] == 1 + acknowledged
    finally:
        other.close()


def test_a_log_that_is_removed_loses_nothing(rota, api, target):
    api.submit_many([{"url": target.url("/ok"), "in": "1h"}] * 500)
    os.unlink(rota.data + "/rota.db-wal")
    acknowledged = submits_until_the_end(rota, target)
    assert_ended_with_words(rota, rota.data + "/rota.db-wal")
    rota.start()
    assert rota.api.read("/v1/stats")["states"]["delayed"] == 500 + acknowledged


def test_a_second_server_is_refused_though_the_lock_file_is_gone(rota, api, target):
    os.unlink(rota.data + "/rota.lock")
    second = Rota(data=rota.data)
    try:
        assert not second.start(ready=False)
        assert second.forget() == 1
        assert "another rota serves this directory" in second.log_text()
    finally:
        second.close()
    api.finished(api.submit(target.url("/ok"))["id"])


def assert_does_not_start(rota, words):
    assert not rota.start(ready=False)
    assert rota.forget() == 1
    assert words in rota.log_text()
    assert "Restore a backup" in rota.log_text()


def kill_while_it_writes(rota, target):
    """So that what was written last is in the log only. Returns how many were acknowledged."""
    writer = threading.Thread(target=lambda: acknowledged.append(submits_until_the_end(rota, target)))
    acknowledged = []
    writer.start()
    wait_until(lambda: rota.api.read("/v1/stats")["states"]["delayed"] >= 100, "it writes")
    rota.process.kill()
    writer.join()
    rota.forget()
    return acknowledged[0]


def test_a_log_that_lost_its_end_is_said_and_can_be_accepted(rota, target):
    acknowledged = kill_while_it_writes(rota, target)
    os.truncate(rota.data + "/rota.db-wal", 32)
    assert_does_not_start(rota, "rota.db-wal has lost its end")
    assert_does_not_start(rota, "remove rota.extent")
    os.unlink(rota.data + "/rota.extent")
    rota.start()
    assert rota.api.read("/v1/stats")["states"]["delayed"] < acknowledged


def test_a_database_that_lost_its_end_is_said(rota, api, target):
    api.submit_many([{"url": target.url("/ok"), "in": "1h"}] * 100)
    rota.stop()
    os.truncate(rota.data + "/rota.db", os.path.getsize(rota.data + "/rota.db") - 4096)
    assert_does_not_start(rota, "rota.db has lost its end")


def test_copies_of_a_stopped_server_start(rota, api, target, tmp_path):
    api.submit_many([{"url": target.url("/ok"), "in": "1h"}] * 100)
    rota.stop()
    shutil.copytree(rota.data, tmp_path / "all")
    (tmp_path / "one").mkdir()
    shutil.copy(rota.data + "/rota.db", tmp_path / "one")
    for copy in ("all", "one"):
        other = Rota(data=str(tmp_path / copy))
        other.start()
        assert other.api.read("/v1/stats")["states"]["delayed"] == 100
        other.close()
