"""The ledger: what clients were promised, what the target saw, what the API says afterwards. Do they agree?

The checker reads only three things: (a) the log of submits, written by the clients, (b) the log of calls, written by the target,
(c) the records of the API, read when all is over (and, if the test likes, before). It knows nothing of rota's insides.

A submit that got no answer is in doubt: it may have been taken or not. One that was refused must have left no trace.
A task is known again at the target by its marker, the text behind `?` of its URL; every submit has its own.
"""

import dataclasses
import threading

from support.client import FINAL, first_job_id
from support.times import to_ms

ACKED, REFUSED, IN_DOUBT = "acked", "refused", "in doubt"

# What was counted, in the words of FAILURES.md and a few more. All zero, or the test is red.
COUNTS = {
    "lost": "acknowledged, but gone, not final, or not run",
    "phantom": "run, but never submitted, refused, or taken twice",
    "two_finals": "seen in one final state and later in another state",
    "early": "called before its time",
    "late": "started late, and the record does not say so or not where",
    "overlapping": "two calls of one job at the same time, and no lost attempt explains it",
    "unexplained": "a call that the job's attempts do not explain",
    "stale": "the record was written by an attempt that was not the last, or against a newer one",
    "after_cancel": "called after its cancellation was confirmed, or went on after a cancelled attempt",
    "seen_by_another": "read by a tenant that does not own it",
}

EXAMPLES_MAX = 50

# With these outcomes rota gave an attempt up without having heard its end, so the target may still have been busy with it.
ABANDONED = {"lost", "timeout", "cancelled", "released"}


@dataclasses.dataclass
class Submit:
    marker: str
    tenant: str = "default"
    fate: str = IN_DOUBT
    task_id: str = None
    planned_ms: int = None  # the `at` it was given
    sla_ms: int = 30_000
    vanishes: bool = False  # ttl "0s": its record may be gone once it ran
    may_expire: bool = False  # has a not_after
    cancel_asked: bool = False
    cancelled_ms: float = None  # when its cancellation had been confirmed
    hurried: bool = False  # run by hand before its time


@dataclasses.dataclass
class Seen:
    """One answer of the API about a job."""

    tenant: str
    job: dict


class Findings(dict):
    """Counts by name, with examples to print."""

    def __init__(self):
        super().__init__({name: 0 for name in COUNTS})
        self.examples = []

    def add(self, name, words):
        self[name] += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(f"{name} ({COUNTS[name]}): {words}")

    def __str__(self):
        counts = ", ".join(f"{name} {count}" for name, count in self.items())
        return "\n  ".join([counts, *self.examples])


class Ledger:
    """Filled by many threads, read at the end by check()."""

    def __init__(self):
        self.lock = threading.Lock()
        self.submits = {}  # marker -> Submit
        self.seen = {}  # job id -> [Seen, …] in the order they were read
        self.gone = set()  # task ids that the API answered with 404
        self.next_marker = 0

    # (a) what clients write

    def new_submit(self, **about):
        """Called before the request is sent."""
        with self.lock:
            self.next_marker += 1
            submit = Submit(f"m{self.next_marker}", **about)
            self.submits[submit.marker] = submit
        return submit

    def acked(self, submit, task_id):
        with self.lock:
            submit.fate, submit.task_id = ACKED, task_id

    def refused(self, submit):
        with self.lock:
            submit.fate = REFUSED

    def cancel_sent(self, submit):
        with self.lock:
            submit.cancel_asked = True

    def cancel_confirmed(self, submit, at_ms):
        with self.lock:
            submit.cancelled_ms = at_ms

    def with_fate(self, fate):
        with self.lock:
            return [submit for submit in self.submits.values() if submit.fate == fate]

    # (c) what the API says

    def saw(self, job, tenant="default"):
        with self.lock:
            self.seen.setdefault(job["id"], []).append(Seen(tenant, job))

    def saw_gone(self, task_id):
        with self.lock:
            self.gone.add(task_id)

    def read(self, api, calls=()):
        """Reads every acknowledged task, and those in doubt that were called."""
        ids = {submit.task_id for submit in self.with_fate(ACKED)}
        ids |= {call.task_id for call in calls if call.task_id}
        for task_id in sorted(ids):
            answer = api.get(f"/v1/tasks/{task_id}/jobs")
            if answer.status == 404:
                self.saw_gone(task_id)
                continue
            assert answer.status == 200, answer
            for job in answer.json["items"]:
                self.saw(job)

    # The comparison

    def check(self, calls):
        """`calls`: the target's log. Returns the Findings."""
        with self.lock:
            return Check(self, calls).run()

    def assert_clean(self, api, target):
        """Reads what the API says now and compares. Returns what the clients know, for a word in the test's output."""
        calls = target.calls()
        self.read(api, calls)
        findings = self.check(calls)
        assert not any(findings.values()), f"the ledger does not agree:\n  {findings}"
        return {fate: len(self.with_fate(fate)) for fate in (ACKED, REFUSED, IN_DOUBT)}


class Check:
    def __init__(self, ledger, calls):
        self.submits = ledger.submits
        self.by_task = {submit.task_id: submit for submit in self.submits.values() if submit.task_id}
        self.seen, self.gone = ledger.seen, ledger.gone
        self.calls = sorted(calls, key=lambda call: call.arrived)
        self.by_job, self.by_marker = {}, {}
        for call in self.calls:
            self.by_job.setdefault(call.job_id, []).append(call)
            self.by_marker.setdefault(call.marker, []).append(call)
        self.jobs_by_task = {}
        for seen in self.seen.values():
            self.jobs_by_task.setdefault(seen[-1].job["task_id"], []).append(seen[-1].job)
        self.found = Findings()

    def run(self):
        for submit in self.submits.values():
            self.check_submit(submit)
        for marker in self.by_marker.keys() - self.submits.keys():
            self.found.add("phantom", f"{marker!r} was called and nobody submitted it")
        for job_id, seen in self.seen.items():
            self.check_job(job_id, seen)
        for job_id in self.by_job.keys() - self.seen.keys():
            self.check_unread(job_id)
        return self.found

    # One submit against the calls and the records.

    def check_submit(self, submit):
        calls = self.by_marker.get(submit.marker, [])
        tasks = {call.task_id for call in calls}
        if submit.fate == REFUSED and calls:
            self.found.add("phantom", f"{submit.marker} was refused, and was called as {tasks}")
        if submit.fate == ACKED and tasks - {submit.task_id} or len(tasks) > 1:
            self.found.add("phantom", f"{submit.marker} is {submit.task_id}, and was called as {tasks}")
        if submit.fate == ACKED:
            self.check_kept(submit, calls)
        for call in calls:
            self.check_call_time(submit, call)

    def check_kept(self, submit, calls):
        jobs = self.jobs_by_task.get(submit.task_id, [])
        if not jobs or submit.task_id in self.gone:
            if not (submit.vanishes and submit.task_id in self.gone and (calls or submit.cancel_asked)):
                self.found.add("lost", f"{submit.marker} {submit.task_id} is not there any more, after {len(calls)} calls")
            return
        for job in jobs:
            self.check_ended(submit, job)

    def check_ended(self, submit, job):
        if job["state"] not in FINAL:
            self.found.add("lost", f"{job['id']} of {submit.marker} is still {job['state']}")
        elif job["state"] == "success" and not self.by_job.get(job["id"]):
            self.found.add("lost", f"{job['id']} of {submit.marker} says success, but the target was never called")
        elif job["state"] == "cancelled" and not (submit.cancel_asked or submit.may_expire):
            self.found.add("lost", f"{job['id']} of {submit.marker} is cancelled, and nobody asked for it")
        elif job["state"] in ("aborted", "buried") and not job["attempts"]:
            self.found.add("lost", f"{job['id']} of {submit.marker} is {job['state']} without an attempt")

    def check_call_time(self, submit, call):
        if submit.planned_ms is not None and not submit.hurried and call.arrived < submit.planned_ms:
            early = submit.planned_ms - call.arrived
            self.found.add("early", f"{submit.marker} was called {early:.1f} ms before the time asked for")

    # One job: what the API said of it, and its calls.

    def check_job(self, job_id, seen):
        job = seen[-1].job
        submit = self.by_task.get(job["task_id"])
        calls = self.by_job.get(job_id, [])
        self.check_owner(submit, seen)
        self.check_history(job_id, seen)
        if job["task_id"] in self.gone:
            return  # it was seen before it went, so this is not the last word about it
        self.check_sla(submit, job)
        self.check_early(job, calls)
        self.check_cancel_is_the_end(job)
        self.check_cancelled(submit, job, calls)
        self.check_overlap(job, calls)
        self.check_explained(job, calls)
        self.check_last_word(job, calls)

    def check_owner(self, submit, seen):
        for one in seen:
            if submit and one.tenant != submit.tenant:
                self.found.add("seen_by_another", f"{one.job['id']} of {submit.tenant} was shown to {one.tenant}")

    def check_history(self, job_id, seen):
        for before, after in zip(seen, seen[1:]):
            if before.job["state"] in FINAL and before.job["state"] != after.job["state"]:
                self.found.add("two_finals", f"{job_id} was {before.job['state']}, then {after.job['state']}")
            ended = {attempt["number"]: attempt["outcome"] for attempt in before.job["attempts"] if attempt["completed_at"]}
            now = {attempt["number"]: attempt["outcome"] for attempt in after.job["attempts"]}
            for number, outcome in ended.items():
                if now.get(number) != outcome:
                    self.found.add("stale", f"{job_id} attempt {number} was {outcome}, then {now.get(number)}")

    def check_sla(self, submit, job):
        if job["sla_met"] is False and not job["late_stage"]:
            self.found.add("late", f"{job['id']} was late, and no stage says it was it")
        started = [to_ms(attempt["started_at"]) for attempt in job["attempts"] if attempt["started_at"]]
        sla_ms = submit.sla_ms if submit else 30_000
        delay = started[0] - to_ms(job["scheduled_at"]) if started else 0
        if job["sla_met"] and delay > sla_ms:
            self.found.add("late", f"{job['id']} started {delay} ms after its time, and says sla_met")

    def check_early(self, job, calls):
        for call in calls:
            if call.arrived < to_ms(job["scheduled_at"]):
                self.found.add("early", f"{job['id']} was called {to_ms(job['scheduled_at']) - call.arrived:.1f} ms early")

    def check_cancel_is_the_end(self, job):
        """An attempt is cancelled only because its job is: it is the last one, and the job ends as cancelled."""
        numbers = [attempt["number"] for attempt in job["attempts"]]
        for attempt in job["attempts"]:
            ended_otherwise = job["state"] in FINAL and job["state"] != "cancelled"
            if attempt["outcome"] == "cancelled" and (attempt["number"] < max(numbers) or ended_otherwise):
                words = f"{job['id']} ({job['state']}) went on after attempt {attempt['number']} was cancelled"
                self.found.add("after_cancel", words)

    def check_cancelled(self, submit, job, calls):
        """Judged by the record: the bytes of a call that was made before may be read by the target at any later time. Its clock
        counts only for a call of which the record does not say when it began."""
        if submit is None or submit.cancelled_ms is None or job["id"] != first_job_id(submit.task_id):
            return
        began = {attempt["number"]: to_ms(attempt["started_at"]) for attempt in job["attempts"] if attempt["started_at"]}
        for number, at in began.items():
            if at > submit.cancelled_ms:
                self.found.add("after_cancel", f"{job['id']} attempt {number} began {at - submit.cancelled_ms:.1f} ms after")
        for call in calls:
            if call.attempt not in began and call.arrived > submit.cancelled_ms:
                self.found.add("after_cancel", f"{job['id']} was called {call.arrived - submit.cancelled_ms:.1f} ms after")

    def check_overlap(self, job, calls):
        """A killed caller's bytes may be read late, even after the next attempt: the lower attempt's outcome counts."""
        outcomes = {attempt["number"]: attempt["outcome"] for attempt in job["attempts"]}
        for before, after in zip(calls, calls[1:]):
            lower = min(before.attempt, after.attempt)
            overlaps = before.ended is None or after.arrived < before.ended
            if overlaps and outcomes.get(lower) not in ABANDONED:
                self.found.add("overlapping", f"{job['id']} attempts {before.attempt} and {after.attempt} ran at the same time")

    def check_explained(self, job, calls):
        """Every call is one attempt, every attempt at most one call, and only the last one may be a success."""
        outcomes = {attempt["number"]: attempt["outcome"] for attempt in job["attempts"]}
        called = set()
        for call in calls:
            if call.attempt in called:
                self.found.add("unexplained", f"{job['id']} was called twice as attempt {call.attempt}")
            elif call.attempt not in outcomes:
                words = f"{job['id']} ({job['state']}) was called as attempt {call.attempt}, its record knows {outcomes}"
                self.found.add("unexplained", words)
            elif call.attempt > 1 and outcomes.get(call.attempt - 1, "success") == "success":
                words = outcomes.get(call.attempt - 1, "not there")
                self.found.add("unexplained", f"{job['id']} was called as attempt {call.attempt}, the one before is {words}")
            called.add(call.attempt)

    def check_last_word(self, job, calls):
        attempts = sorted(job["attempts"], key=lambda attempt: attempt["number"])
        for attempt in attempts[:-1]:
            if attempt["outcome"] == "success":
                self.found.add("stale", f"{job['id']} attempt {attempt['number']} of {len(attempts)} is a success")
        if job["state"] != "success" or not attempts:
            return
        last = attempts[-1]
        if last["outcome"] != "success":
            self.found.add("stale", f"{job['id']} is a success, its last attempt is {last['outcome']}")
        for call in calls:
            if call.attempt == last["number"] and (call.status, kept(call)) != (job["status"], job["response"]):
                found = (job["status"], job["response"][:40] if job["response"] else None)
                given = (call.status, kept(call)[:40])
                self.found.add("stale", f"{job['id']} keeps {found}, its last attempt was answered {given}")

    def check_unread(self, job_id):
        """A job that was called, yet the API does not know it."""
        for call in self.by_job[job_id]:
            submit = self.submits.get(call.marker)
            if submit and not submit.vanishes and submit.fate != REFUSED:
                self.found.add("lost", f"{job_id} of {call.marker} was called, and the API does not know it")
                return


def kept(call):
    return call.answer[:4096].decode(errors="replace")
