"""Clients that ask every node over and over whether it works, and write down what they are told and how long it took.

For the promises about a database that is away: within 5 s every request is answered, with 503 and Retry-After if it could not be
done, and everything works again 2 s after the database is back.
"""

import dataclasses
import threading
import time

from support.client import Api
from support.wait import wait_until

ANSWER_S, BACK_S = 5.0, 2.0
INTERVAL_S = 0.1


@dataclasses.dataclass
class Reply:
    what: str  # the request
    sent: float  # on time.monotonic(), as all times here
    answered: float
    status: int
    retry_after: str

    @property
    def good(self):
        return self.status < 300


@dataclasses.dataclass
class Outage:
    """It began to go, was gone, began to come, and was back: what lies between the two of a kind may be either."""

    going: float
    gone: float
    coming: float
    back: float

    def explains(self, reply):
        return self.going <= reply.answered and reply.sent <= self.back + BACK_S

    def contains(self, reply):
        return self.gone < reply.sent and reply.answered < self.coming


class Probe:
    """One node, one kind of request."""

    def __init__(self, node, ask, name):
        self.api, self.ask, self.name = Api(node.where), ask, name
        self.replies = []
        self.failure = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.stopping.wait(INTERVAL_S):
                sent = time.monotonic()
                answer = self.ask(self.api)
                self.replies.append(Reply(self.name, sent, time.monotonic(), answer.status, answer.headers["Retry-After"]))
        except Exception as failure:  # it must fail the test, not vanish with the thread
            self.failure = failure
        finally:
            self.api.close()

    def good_since(self, moment):
        return next((reply for reply in list(self.replies) if reply.good and reply.answered >= moment), None)


class Probes:
    """Submits are written into the ledger as everybody's."""

    def __init__(self, nodes, target, ledger):
        def submit(api):
            submit = ledger.new_submit()
            answer = api.post("/v1/tasks", {"url": target.url(f"/ok?{submit.marker}")})
            if answer.status == 201:
                ledger.acked(submit, answer.json["id"])
            return answer

        read, resume = lambda api: api.get("/v1/stats"), lambda api: api.post("/v1/queues/probed/resume")
        kinds = {"submit": submit, "stats": read, "resume": resume}
        self.all = [Probe(node, ask, f"{name} at node {i}") for i, node in enumerate(nodes) for name, ask in kinds.items()]

    def __enter__(self):
        for probe in self.all:
            probe.thread.start()
        return self

    def __exit__(self, *_):
        for probe in self.all:
            probe.stopping.set()
        for probe in self.all:
            probe.thread.join()

    def wait_back(self, outage):
        """Until every node does everything again."""
        back = lambda: all(probe.good_since(outage.back) or probe.failure for probe in self.all)
        wait_until(back, "every node works again")

    def check(self, outages):
        """Call it after the end. Returns words about what was measured."""
        slowest, latest = 0, 0
        for probe in self.all:
            assert probe.failure is None, f"{probe.name} met {probe.failure!r}: the server itself was always there"
            slowest = max([slowest, *(self.check_reply(reply, outages) for reply in probe.replies)])
            latest = max([latest, *(self.check_back(probe, outage.back) for outage in outages)])
        return f"slowest answer {slowest:.1f} s, works again after {latest:.1f} s"

    def check_reply(self, reply, outages):
        took = reply.answered - reply.sent
        assert took <= ANSWER_S, f"{reply} took {took:.1f} s"
        if not reply.good:
            assert (reply.status, bool(reply.retry_after)) == (503, True), reply
            assert any(outage.explains(reply) for outage in outages), f"{reply}: but the database was there: {outages}"
        impossible = reply.good and any(outage.contains(reply) for outage in outages)
        assert not impossible, f"{reply}: but the database was away: {outages}"
        return took

    def check_back(self, probe, back):
        after = probe.good_since(back)
        assert after, f"{probe.name} never worked again"
        took = after.answered - back
        assert took <= BACK_S, f"{probe.name} worked again only after {took:.1f} s: {after}"
        return took

    def refusals(self):
        return sum(not reply.good for probe in self.all for reply in probe.replies)
