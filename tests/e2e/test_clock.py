"""A machine whose clock is wrong goes by the database's. The wrong clock is played by libfaketime."""

import pytest

from support.clock import with_clock
from support.rota import Rota
from support.times import to_ms
from support.wait import now_ms

pytestmark = pytest.mark.stores("postgres")

WRONG_MS = 45_000
EXACT_MS = 500  # a corrected clock is as exact as a beat is quick, and this machine may be busy
NEAR_MS = WRONG_MS // 3  # what is nearer than this to the right time was not read from the wrong clock


@pytest.mark.parametrize("shift, words", [("+45s", "ahead of the database's"), ("-45s", "behind the database's")])
def test_a_wrong_clock_neither_hurries_nor_delays(place, target, shift, words):
    wrong, right = with_clock(place, shift), Rota(**place)
    try:
        wrong.start()
        assert wrong.api.post("/v1/queues/held/pause").status == 200
        asked = now_ms()
        task_id = wrong.api.submit(target.url("/ok/wrong"), **{"in": "3s"})["id"]
        job = wrong.api.finished(task_id)
        (call,) = target.calls()
        assert call.arrived >= asked + 3000 - EXACT_MS
        for time in ("scheduled_at", "started_at", "completed_at"):
            assert abs(to_ms(job[time]) - call.arrived) < NEAR_MS, f"{time} is {job[time]}, read from the wrong clock"
        assert words in wrong.log_text()
        held = wrong.api.submit(target.url("/ok/held"), queue="held", not_after="30s")["id"]
        wrong.restart()  # which must not begin by the wrong clock: what expires in 30 s has not expired
        assert wrong.api.post("/v1/queues/held/resume").status == 200
        assert wrong.api.finished(held)["state"] == "success"
        right.start()
        shared = right.api.submit(target.url("/ok/right"), **{"in": "8s"})["id"]  # either may take it
        asked = to_ms(right.api.task(shared)["created_at"])
        wrong.api.finished(shared)
        (call,) = target.calls(path="/ok/right")
        assert call.arrived >= asked + 8000 - EXACT_MS
    finally:
        right.close()
        wrong.close()
