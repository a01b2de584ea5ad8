"""Clients that ask every node over and over whether it works, and write down what they are told and how long it took.

For the promises about a database that is away: every request is answered, with 503 and Retry-After if it could not be done, and
everything works again when the database is back. How long each took (within 5 s, and after 2 s) is told, not asserted.
"""

import dataclasses
import threading
import time

from support.client import Api
from support.figures import tell
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
    """It began to go, was gone, began to come, and was back: what lies between the two of a kind may be either. It is over when every
    node does everything again."""

    going: float
    gone: float
    coming: float
    back: float
    over: float = None

    def explains(self, reply):
        return self.going <= reply.answered and reply.sent <= self.over

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
        outage.over = time.monotonic()

    def check(self, outages, fault):
        """Call it after the end."""
        slowest, latest = 0, 0
        for probe in self.all:
            assert probe.failure is None, f"{probe.name} met {probe.failure!r}: the server itself was always there"
            slowest = max([slowest, *(self.check_reply(reply, outages) for reply in probe.replies)])
            latest = max([latest, *(self.check_back(probe, outage.back) for outage in outages)])
        tell(f"database {fault}: slowest answer", slowest, ANSWER_S)
        tell(f"database {fault}: works again after", latest, BACK_S)

    def check_reply(self, reply, outages):
        if not reply.good:
            assert (reply.status, bool(reply.retry_after)) == (503, True), reply
            assert any(outage.explains(reply) for outage in outages), f"{reply}: but the database was there: {outages}"
        impossible = reply.good and any(outage.contains(reply) for outage in outages)
        assert not impossible, f"{reply}: but the database was away: {outages}"
        return reply.answered - reply.sent

    def check_back(self, probe, back):
        after = probe.good_since(back)
        assert after, f"{probe.name} never worked again"
        return after.answered - back

    def refusals(self):
        return sum(not reply.good for probe in self.all for reply in probe.replies)
