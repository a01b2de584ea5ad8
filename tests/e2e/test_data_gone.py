"""Files that are taken away from under a live server: it notices with its next beat, takes nothing more, and ends with words."""

import os
import shutil

import pytest

from support.client import NOT_REACHED
from support.rota import Rota
from support.wait import wait_until

pytestmark = pytest.mark.stores("sqlite")
LOST = 71


def submits_until_the_end(rota, target):
    """How many were acknowledged until it ended; nothing else than a refusal came between."""
    acknowledged = 0

    def ended():
        nonlocal acknowledged
        try:
            answer = rota.api.post("/v1/tasks", {"url": target.url("/ok"), "in": "1h"})
            assert answer.status == 201 or answer.json["code"] == "store_lost", answer
            acknowledged += answer.status == 201
        except NOT_REACHED:
            pass
        return rota.dead()

    wait_until(ended, "the server has ended")
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
