"""The checker is trusted by everything else, so each violation is planted here, and it must be seen.

A checker that cannot fail is worthless.
"""

import copy

import pytest

from support.ledger import COUNTS, Ledger
from support.target import Call
from support.times import to_text

PLANNED = 1_800_000_000_000


def attempt(number, outcome="success", started=PLANNED + 10, completed=PLANNED + 20, status=200):
    return {
        "number": number,
        "outcome": outcome,
        "status": status,
        "picked_at": to_text(started),
        "started_at": to_text(started),
        "completed_at": to_text(completed),
    }


class World:
    """A task that was submitted, called and finished as it should. Tests spoil one thing."""

    def __init__(self):
        self.ledger = Ledger()
        self.submit = self.ledger.new_submit(planned_ms=PLANNED)
        self.ledger.acked(self.submit, "t1")
        self.calls = []
        self.call(1, PLANNED + 12, PLANNED + 18)
        self.job = {
            "id": "j1",
            "task_id": "t1",
            "state": "success",
            "scheduled_at": to_text(PLANNED),
            "sla_met": True,
            "late_stage": None,
            "status": 200,
            "response": "ok 1",
            "attempts": [attempt(1)],
        }

    def call(self, number, arrived, ended, job="j1", task="t1", marker=None, status=200):
        headers = [("Rota-Job-Id", job), ("Rota-Task-Id", task), ("Rota-Attempt", str(number))]
        path = f"/ok?{marker or self.submit.marker}"
        made = Call(len(self.calls), "POST", path, headers, b"", arrived, ended, status, b"ok %d" % number)
        self.calls.append(made)
        return made

    def second_attempt(self, first_outcome):
        """The first attempt ended as said; a second one succeeded later."""
        self.job["attempts"] = [attempt(1, first_outcome), attempt(2, started=PLANNED + 40, completed=PLANNED + 50)]
        self.job["response"] = "ok 2"
        return self.call(2, PLANNED + 42, PLANNED + 48)

    def see(self, **changes):
        job = copy.deepcopy(self.job)
        job.update(changes)
        self.ledger.saw(job)

    def found(self, see=True):
        if see:
            self.see()
        findings = self.ledger.check(self.calls)
        return {name: count for name, count in findings.items() if count}


@pytest.fixture
def world():
    return World()


def test_a_good_run_is_clean(world):
    assert world.found() == {}


def test_a_second_run_after_a_lost_attempt_is_clean(world):
    world.second_attempt("lost")
    assert world.found() == {}


def test_a_retry_after_a_failure_is_clean(world):
    world.second_attempt("failed")
    assert world.found() == {}


def test_a_submit_in_doubt_may_have_been_taken_or_not(world):
    world.ledger.new_submit()
    taken = world.ledger.new_submit()
    world.call(1, PLANNED + 12, PLANNED + 18, job="j2", task="t2", marker=taken.marker)
    world.see()
    world.job.update(id="j2", task_id="t2")
    assert world.found() == {}


def test_an_acknowledged_task_that_is_gone_is_lost(world):
    world.calls.clear()
    world.ledger.saw_gone("t1")
    assert world.found(see=False) == {"lost": 1}


def test_an_acknowledged_task_that_is_never_read_is_lost(world):
    world.calls.clear()
    assert world.found(see=False) == {"lost": 1}


@pytest.mark.parametrize("state", ["delayed", "ready", "watching", "reserved"])
def test_a_job_that_does_not_end_is_lost(world, state):
    world.job["state"] = state
    assert world.found() == {"lost": 1}


def test_a_success_that_was_never_called_is_lost(world):
    world.calls.clear()
    assert world.found() == {"lost": 1}


def test_a_cancellation_that_nobody_asked_for_is_lost(world):
    world.job.update(state="cancelled", attempts=[])
    world.calls.clear()
    assert world.found() == {"lost": 1}
    world.submit.cancel_asked = True
    assert world.found(see=False) == {}


def test_a_job_given_up_without_an_attempt_is_lost(world):
    world.job.update(state="aborted", attempts=[])
    world.calls.clear()
    assert world.found() == {"lost": 1}


def test_a_task_without_retention_may_be_gone_but_not_uncalled(world):
    world.submit.vanishes = True
    world.ledger.saw_gone("t1")
    assert world.found(see=False) == {}
    world.calls.clear()
    assert world.found(see=False) == {"lost": 1}


def test_a_task_without_retention_may_have_been_seen_under_way(world):
    world.submit.vanishes = True
    world.see(state="reserved", attempts=[])
    world.ledger.saw_gone("t1")
    assert world.found(see=False) == {}


def test_a_task_that_was_seen_and_is_gone_is_lost(world):
    world.see()
    world.ledger.saw_gone("t1")
    assert world.found(see=False) == {"lost": 1}


def test_a_job_in_doubt_that_was_called_must_be_known(world):
    taken = world.ledger.new_submit()
    world.call(1, PLANNED + 12, PLANNED + 18, job="j2", task="t2", marker=taken.marker)
    assert world.found() == {"lost": 1}


def test_what_nobody_submitted_is_a_phantom(world):
    world.call(1, PLANNED + 12, PLANNED + 18, job="j9", task="t9", marker="never")
    assert world.found() == {"phantom": 1}


def test_what_was_refused_and_runs_is_a_phantom(world):
    refused = world.ledger.new_submit()
    world.ledger.refused(refused)
    world.call(1, PLANNED + 12, PLANNED + 18, job="j2", task="t2", marker=refused.marker)
    assert world.found() == {"phantom": 1}


def test_one_submit_taken_as_two_tasks_is_a_phantom(world):
    world.call(1, PLANNED + 30, PLANNED + 40, job="j2", task="t2")
    world.see()
    world.job.update(id="j2", task_id="t2")
    assert world.found() == {"phantom": 1}


@pytest.mark.parametrize("then", ["aborted", "buried", "cancelled", "ready"])
def test_two_final_states_are_seen(world, then):
    world.submit.cancel_asked = True
    world.see()
    world.see(state=then)
    assert world.found(see=False)["two_finals"] == 1


def test_a_call_before_the_time_asked_for_is_early(world):
    world.calls[0].arrived = PLANNED - 0.5
    world.job["scheduled_at"] = to_text(PLANNED - 1)
    assert world.found() == {"early": 1}


def test_a_call_before_the_time_recorded_is_early(world):
    world.submit.planned_ms = None
    world.calls[0].arrived = PLANNED - 0.5
    assert world.found() == {"early": 1}


def test_a_job_run_by_hand_is_not_early(world):
    world.submit.hurried = True
    world.calls[0].arrived = PLANNED - 1000
    world.job["scheduled_at"] = to_text(PLANNED - 2000)
    assert world.found() == {}


def test_late_without_a_stage_is_late(world):
    world.job["sla_met"] = False
    assert world.found() == {"late": 1}


def test_late_with_a_stage_is_recorded_as_promised(world):
    world.job.update(sla_met=False, late_stage="queue")
    assert world.found() == {}


def test_late_and_not_said_is_late(world):
    world.job["attempts"] = [attempt(1, started=PLANNED + 30_001, completed=PLANNED + 30_010)]
    assert world.found() == {"late": 1}


def test_two_runs_at_one_time_overlap(world):
    world.second_attempt("failed")
    world.calls[0].ended = PLANNED + 45
    assert world.found() == {"overlapping": 1}


def test_a_lost_attempt_explains_an_overlap(world):
    world.second_attempt("lost")
    world.calls[0].ended = None
    assert world.found() == {}


def test_one_attempt_called_twice_is_unexplained(world):
    world.call(1, PLANNED + 30, PLANNED + 40)
    assert world.found() == {"unexplained": 1}


def test_a_call_that_the_record_does_not_know_is_unexplained(world):
    world.call(2, PLANNED + 30, PLANNED + 40)
    assert world.found() == {"unexplained": 1}


def test_a_run_after_a_success_is_unexplained(world):
    world.second_attempt("success")
    found = world.found()
    assert found["unexplained"] == 1 and found["stale"] == 1


def test_a_run_whose_forerunner_is_not_recorded_is_unexplained(world):
    world.second_attempt("lost")
    del world.job["attempts"][0]
    del world.calls[0]
    assert world.found() == {"unexplained": 1}


def test_an_answer_of_an_old_attempt_in_the_record_is_stale(world):
    world.second_attempt("lost")
    world.job["response"] = "ok 1"
    assert world.found() == {"stale": 1}


def test_a_success_over_a_failed_last_attempt_is_stale(world):
    world.job["attempts"] = [attempt(1, "failed")]
    assert world.found() == {"stale": 1}


def test_an_attempt_rewritten_later_is_stale(world):
    world.second_attempt("lost")
    world.see()
    world.job["attempts"][0]["outcome"] = "failed"
    assert world.found() == {"stale": 1}


def test_a_call_after_a_confirmed_cancel_is_seen(world):
    world.ledger.cancel_sent(world.submit)
    world.ledger.cancel_confirmed(world.submit, PLANNED + 5)
    world.job["state"] = "cancelled"
    world.job["attempts"] = [attempt(1, "cancelled")]
    assert world.found() == {"after_cancel": 1}


def test_an_attempt_after_a_cancelled_one_is_seen(world):
    world.second_attempt("cancelled")
    assert world.found() == {"after_cancel": 1}


def test_a_cancelled_attempt_that_ends_its_job_otherwise_is_seen(world):
    world.ledger.cancel_sent(world.submit)
    world.job["state"] = "aborted"
    world.job["attempts"] = [attempt(1, "cancelled")]
    assert world.found() == {"after_cancel": 1}


def test_a_call_that_had_begun_before_the_cancel_is_fine(world):
    world.ledger.cancel_sent(world.submit)
    world.ledger.cancel_confirmed(world.submit, PLANNED + 11)
    world.job["state"] = "cancelled"
    world.job["attempts"] = [attempt(1, "cancelled")]
    assert world.found() == {}


def test_a_killed_callers_bytes_may_be_read_after_the_next_attempt(world):
    world.second_attempt("lost")
    world.calls[0].arrived, world.calls[0].ended = PLANNED + 44, PLANNED + 46
    assert world.found() == {}


def test_another_tenants_eyes_are_seen(world):
    world.ledger.saw(world.job, tenant="other")
    assert world.found() == {"seen_by_another": 1}


def test_every_count_has_a_test_that_plants_it():
    source = open(__file__).read()
    for name in COUNTS:
        assert f'"{name}"' in source, f"nothing here plants {name}"
