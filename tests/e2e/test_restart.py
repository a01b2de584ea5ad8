"""Stops, starts and freezes: planned work survives them all."""

import socket

import pytest

from support.client import first_job_id
from support.ledger import Ledger
from support.load import Load, settle
from support.rota import Rota
from support.times import to_ms
from support.wait import now_ms, wait_until


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_planned_work_survives(rota, target, how):
    soon = rota.api.submit(target.url("/ok/soon"), **{"in": "3s"})
    late = rota.api.submit(target.url("/ok/late"), **{"in": "1h"}, name="later")
    missed = rota.api.submit(target.url("/ok/missed"), **{"in": "300ms"})
    getattr(rota, how)()
    wait_until(lambda: now_ms() > to_ms(missed["scheduled_at"]), "one of them is due while nobody is there")
    rota.start()
    assert rota.api.finished(soon["id"])["state"] == "success"
    assert rota.api.finished(missed["id"])["state"] == "success"
    assert rota.api.first_job(late["id"])["state"] == "delayed"
    assert rota.api.task(late["id"])["name"] == "later"
    assert [len(target.calls(path=f"/ok/{name}")) for name in ("soon", "missed", "late")] == [1, 1, 0]
    assert target.calls(path="/ok/soon")[0].arrived >= to_ms(soon["scheduled_at"])


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_is_done_stays_as_it_was(rota, target, how):
    paths = ("/ok", "/status/404", "/fail/1")
    done = [rota.api.submit(target.url(path), retry={"max": 1, "delay": "0s"})["id"] for path in paths]
    before = [rota.api.finished(task_id) for task_id in done]
    getattr(rota, how)()
    rota.start()
    assert [rota.api.first_job(task_id) for task_id in done] == before
    assert len(target.calls()) == 5


@pytest.mark.stores("sqlite")
def test_a_start_says_whether_its_database_is_new(rota):
    said = "the database is new: there was none in this directory"
    assert rota.log_text().count(said) == 1
    rota.stop()
    rota.start()
    assert rota.log_text().count(said) == 1, "the second start found it"


def test_new_ids_do_not_repeat_old_ones(rota, target):
    seen = set()
    for _ in range(4):
        seen.update(rota.api.submit_many([{"url": target.url("/ok"), "in": "1h"} for _ in range(20)]))
        rota.kill()
        rota.start()
    assert len(seen) == 80
    assert rota.api.pending() == 80


@pytest.mark.stores("sqlite")
def test_a_second_server_on_the_same_data_is_refused(rota, target):
    second = Rota(data=rota.data)
    try:
        assert second.start(ready=False) is False, "a second server started on data that is in use"
        assert second.forget() == 1, second.log_text()  # under sanitizers a leak would make it another number
        assert rota.data in second.log_text(), "the message does not say which data"
    finally:
        second.close(stop=False)
    task = rota.api.submit(target.url("/ok/unharmed"))
    assert rota.api.finished(task["id"])["state"] == "success"
    rota.restart()
    assert rota.api.first_job(task["id"])["state"] == "success"


def test_a_graceful_stop_lets_running_calls_finish(rota, target):
    tasks = rota.api.submit_many([{"url": target.url("/gate/finish"), "timeout": "10m"} for _ in range(20)])
    target.wait_calls(20)
    rota.terminate()
    wait_until(lambda: not accepts(rota), "it takes no new connections")
    target.open("finish")
    assert rota.wait_end() == 0
    rota.start()
    for task_id in tasks:
        job = rota.api.first_job(task_id)
        assert (job["state"], len(job["attempts"])) == ("success", 1)
    assert len(target.calls()) == 20


def accepts(rota):
    try:
        with socket.create_connection(rota.where(), timeout=1) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


def test_a_graceful_stop_does_not_wait_for_ever(rota, target):
    """A call that never ends is given up and runs again in the next life, with the record saying why."""
    task = rota.api.submit(target.url("/gate/given-up"), timeout="1h")
    target.wait_calls(1)
    rota.stop()
    rota.start()
    target.wait_calls(2)
    target.open("given-up")
    job = rota.api.finished(task["id"])
    assert job["state"] == "success"
    assert (job["attempts"][0]["outcome"], job["attempts"][0]["reason"]) == ("released", "the server was stopped")


def test_a_graceful_stop_under_load_breaks_no_answer(idle_rota, target):
    rota, ledger = idle_rota, Ledger()
    rota.start()
    with Load(rota, target, ledger, limit=600) as load:
        for _ in range(2):
            load.more(300)
            load.wait_acked(100)
            rota.restart()
        load.more(50)
        load.wait_acked(20)
    assert load.failures == []
    assert load.broken == [], "an answer was cut off in the middle"
    settle(rota, target, ledger)
    outcomes = {attempt["outcome"] for seen in ledger.seen.values() for attempt in seen[-1].job["attempts"]}
    assert "lost" not in outcomes, "a graceful stop lost an attempt"


@pytest.mark.slow
def test_a_frozen_server_wakes_and_goes_on(rota, target):
    """Longer than its right to start jobs lasts without a heartbeat, so it must notice its own absence."""
    ledger = Ledger()
    with Load(rota, target, ledger, limit=200) as load:
        load.wait_acked(60)
        submit = ledger.new_submit()
        due_in_sleep = rota.api.submit(target.url(f"/ok?{submit.marker}"), **{"in": "5s"})
        ledger.acked(submit, due_in_sleep["id"])
        rota.frozen_for(12)
        load.more(100)
        load.wait_acked(40)
    assert load.failures == []
    assert rota.api.wait_state(first_job_id(due_in_sleep["id"]), "success")
    settle(rota, target, ledger)


def test_many_restarts_leave_nothing_behind(rota, target):
    for _ in range(5):
        rota.api.submit(target.url("/ok"))
        rota.restart()
    rota.api.wait_idle()
    assert rota.api.read("/v1/stats")["states"]["success"] == 5
    assert rota.api.get("/readyz").status == 200
