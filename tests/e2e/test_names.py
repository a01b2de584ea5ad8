"""Names that nobody answers for: those that are answered for do not pay for them, and no attempt is lost over waiting."""

import itertools

import pytest

from support.dns import NameServer
from support.rota import Rota
from support.wait import wait_until

DEAD = 3000


@pytest.fixture
def names():
    names = NameServer()
    yield names
    names.close()


@pytest.fixture
def start(place, names):
    made = []

    def start(*options):
        made.append(Rota(**place, command=names.command(), options=options))
        made[-1].start()
        return made[-1]

    yield start
    for rota in made:
        rota.close()


NUMBERS = itertools.count()


def good(target, count=20, **fields):
    """Tasks to names that were never asked for before. They have one attempt."""
    port = target.url("/").rpartition(":")[2].strip("/")
    return [{"url": f"http://n{next(NUMBERS)}.good.test:{port}/ok", "retry": {"max": 0}, **fields} for _ in range(count)]


def dead(count, queues=1, **fields):
    return [{"url": f"http://n{next(NUMBERS)}.dead.test/", "queue": f"q{i % queues}", "timeout": "60s", **fields} for i in range(count)]


def submit(rota, tasks):
    return [task_id for i in range(0, len(tasks), 500) for task_id in rota.api.submit_many(tasks[i : i + 500])]


def outcomes(rota, ids):
    return {rota.api.finished(task_id)["state"] for task_id in ids}


@pytest.mark.parametrize("queues", [1, 6])
def test_good_names_do_not_pay_for_thousands_of_dead_ones(start, names, target, queues):
    rota = start()
    known = good(target)
    assert outcomes(rota, submit(rota, known)) == {"success"}
    hanging = submit(rota, dead(DEAD, queues))
    wait_until(lambda: len(set(names.asked)) > 300, "hundreds of them are being asked for")
    assert outcomes(rota, submit(rota, good(target, queue="other"))) == {"success"}
    assert outcomes(rota, submit(rota, good(target, queue="q0"))) == {"success"}, "nor those of the same queue"
    assert outcomes(rota, submit(rota, known)) == {"success"}
    assert rota.api.first_job(hanging[-1])["attempts"] == [], "it waits for its name, and has lost nothing over it"
    assert rota.api.get("/readyz").status == 200


def test_a_name_does_not_wait_behind_those_that_nobody_wants_any_more(start, names, target):
    rota = start()
    submit(rota, dead(2 * DEAD))
    wait_until(lambda: len(set(names.asked)) > 300, "hundreds of them are being asked for")
    bulk = rota.api.post("/v1/bulk", {"action": "cancel", "filter": {"queue": "q0"}}).json
    wait_until(lambda: rota.api.read(f"/v1/bulk/{bulk['id']}")["state"] == "done", "nobody wants any of them")
    assert outcomes(rota, submit(rota, good(target, queue="q0"))) == {"success"}
    assert len({name for name in names.asked if name.endswith(".dead.test")}) < 2 * DEAD


def test_a_name_that_is_looked_up_takes_no_slot(start, names, target):
    rota = start("--calls-max", "2")
    submit(rota, dead(50))
    wait_until(lambda: len(set(names.asked)) == 50, "all of them are being asked for")
    assert outcomes(rota, submit(rota, good(target, queue="q0"))) == {"success"}


def test_what_many_ask_for_is_asked_once_and_fails_for_all(start, names):
    rota = start()
    url = f"http://n{next(NUMBERS)}.dead.test/"
    ids = submit(rota, [{"url": url, "retry": {"max": 0}, "timeout": "60s", "queue": f"q{i % 3}"} for i in range(100)])
    jobs = [rota.api.finished(task_id) for task_id in ids]
    assert {job["attempts"][0]["outcome"] for job in jobs} == {"dns_error"}
    assert all(len(job["attempts"]) == 1 for job in jobs)
    assert len(names.asked) <= 12, "two questions, each repeated twice, and for who came a second later once more"


def test_a_name_that_is_not_there_fails_at_once(start, names):
    rota = start()
    job = rota.api.finished(rota.api.submit(f"http://n{next(NUMBERS)}.gone.test/", retry={"max": 0})["id"])
    assert (job["state"], job["attempts"][0]["outcome"]) == ("aborted", "dns_error")


def test_what_waits_for_a_name_can_be_cancelled_and_deleted(start, names):
    rota = start()
    first, second = submit(rota, dead(2))
    wait_until(lambda: len(set(names.asked)) == 2, "both are being asked for")
    assert rota.api.post(f"/v1/tasks/{first}/cancel").status == 200
    assert rota.api.first_job(first)["state"] == "cancelled"
    assert rota.api.request("DELETE", f"/v1/tasks/{second}").status == 204
    assert rota.api.get(f"/v1/tasks/{second}").status == 404


def test_a_stop_does_not_wait_for_names_and_loses_nothing(start, names):
    rota = start()
    ids = submit(rota, dead(20))
    wait_until(lambda: len(set(names.asked)) == 20, "all of them are being asked for")
    rota.restart()
    assert all(rota.api.first_job(task_id)["attempts"] == [] for task_id in ids)
    assert "given up" not in rota.log_text()


def test_another_name_server_is_asked_although_the_first_never_answers(start, names, target):
    """Just when nobody answers the file is changed, and then there are always look-ups under way."""
    rota = start()
    names.silent = True
    submit(rota, dead(20, retry={"max": 20, "delay": "1s", "backoff": "fixed"}))
    wait_until(lambda: len(set(names.asked)) == 20, "all of them are being asked for")
    other = NameServer()
    try:
        names.name(other)

        def asked():
            submit(rota, good(target, 1))
            return other.asked

        wait_until(asked, "the other is asked", interval=0.2)
        assert outcomes(rota, submit(rota, good(target))) == {"success"}
    finally:
        other.close()
