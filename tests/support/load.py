"""Concurrent clients that use every way in, and write into the ledger what they were told.

Each client goes through the menu below again and again, and turns to any of the nodes for each dish. A client that gets no answer
notes the submit as in doubt and goes on when a node is there; a submit with a key is sent again, to whichever node, until it is
taken, as a careful client would.
"""

import random
import threading
import time

from support.client import NOT_REACHED, Api, first_job_id
from support.times import to_text
from support.wait import now_ms, wait_until

# Codes of 503 that promise that nothing was stored.
PROMISES_NOTHING = {"stopping", "storage_full", "busy"}
PAUSED_QUEUE = "now-and-then"
AGAIN_S = 0.1  # before a submit with a key is sent again


class Stopped(Exception):
    pass


class Load:
    """`nodes`: one server or several that share a database. `limit`: how many submits there may be at most until more() allows
    some more; or `rate`: so many a second. `patience`: after so many seconds without an answer a client gives a request up."""

    def __init__(self, nodes, target, ledger, clients=4, limit=400, rate=None, seed=1, patience=90):
        self.nodes = nodes if isinstance(nodes, list) else [nodes]
        self.target, self.ledger, self.rate, self.patience = target, ledger, rate, patience
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.left, self.counted_at = 0 if rate else limit, time.monotonic()
        self.failures = []
        self.closed = 0  # requests that ended in a closed connection instead of an answer
        self.broken = []  # answers that were cut off in the middle
        self.threads = [threading.Thread(target=self.run, args=(seed * 100 + i,)) for i in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def more(self, count):
        with self.lock:
            self.left = count

    def take(self, count):
        with self.lock:
            self.left -= count

    def may_go_on(self):
        """With a rate, what was not used up while nobody could be reached is not made up for beyond one second's worth."""
        with self.lock:
            now = time.monotonic()
            if self.rate:
                self.left = min(self.left + self.rate * (now - self.counted_at), self.rate)
            self.counted_at = now
            return self.left > 0

    def run(self, seed):
        client = Client(self, seed)
        try:
            while True:
                for name in client.menu():
                    client.go_on()
                    client.turn_to_any()
                    MENU[name](client)
        except Stopped:
            pass
        except BaseException as failure:  # an assertion in a thread must fail the test, not vanish
            self.failures.append(failure)
        finally:
            client.close()

    def wait_acked(self, count):
        """Until so many more submits were acknowledged than now."""
        enough = len(self.ledger.with_fate("acked")) + count
        acked = lambda: len(self.ledger.with_fate("acked"))
        wait_until(lambda: acked() >= enough or self.failures, f"{count} more submits are acknowledged")
        assert self.failures == []


class Client:
    def __init__(self, load, seed):
        self.load, self.ledger, self.target = load, load.ledger, load.target
        self.dice = random.Random(seed)
        self.apis = [Api(node.where, timeout=load.patience) for node in load.nodes]
        self.api = self.apis[0]
        self.done = []  # submits that were acknowledged, to steer later

    def turn_to_any(self):
        self.api = self.dice.choice(self.apis)

    def close(self):
        for api in self.apis:
            api.close()

    def menu(self):
        names = list(MENU)
        self.dice.shuffle(names)
        return names

    def go_on(self):
        """Returns when there is something to do; raises Stopped at the end."""
        while not self.load.stopping.is_set():
            if self.load.may_go_on():
                return
            self.load.stopping.wait(0.01)
        raise Stopped

    def url(self, path, submit):
        return self.target.url(f"{path}?{submit.marker}")

    def ask(self, method, path, body=None):
        """An answer, or None when there was none."""
        try:
            answer = self.api.request(method, path, body)
        except NOT_REACHED as failure:
            self.load.closed += 1
            if type(failure).__name__ == "IncompleteRead":
                self.load.broken.append(failure)
            self.wait_server()
            return None
        assert answer.status != 500 and answer.status < 504, f"{method} {path} was answered with {answer}"
        return answer

    def wait_server(self):
        while not self.load.stopping.is_set():
            self.turn_to_any()
            try:
                if self.api.get("/healthz").status == 200:
                    return
            except NOT_REACHED:
                self.load.stopping.wait(0.02)
        raise Stopped

    def submit(self, path, key=False, at_ms=None, **fields):
        about = {name: fields.pop(name) for name in ("vanishes", "may_expire") if name in fields}
        self.load.take(1)
        submit = self.ledger.new_submit(planned_ms=at_ms, **about)
        task = {"url": self.url(path, submit), **fields}
        if key:
            task["key"] = submit.marker
        if at_ms:
            task["at"] = to_text(at_ms)
        answer = self.ask("POST", "/v1/tasks", task)
        while key and (answer is None or answer.status == 503):
            if self.load.stopping.wait(AGAIN_S):
                raise Stopped
            self.turn_to_any()
            answer = self.ask("POST", "/v1/tasks", task)
        if answer is None:
            return None
        return self.note(submit, answer)

    def note(self, submit, answer):
        if answer.status in (200, 201):
            self.ledger.acked(submit, answer.json["id"])
            self.done.append(submit)
            return submit
        assert answer.status == 503, f"a good task was answered with {answer}"
        assert answer.headers["Retry-After"], answer
        if answer.json["code"] in PROMISES_NOTHING:
            self.ledger.refused(submit)
        return None

    def submit_bulk(self, path, count):
        self.load.take(count)
        submits = [self.ledger.new_submit() for _ in range(count)]
        answer = self.ask("POST", "/v1/tasks", [{"url": self.url(path, submit)} for submit in submits])
        if answer is None:
            return
        if answer.status != 201:
            for submit in submits:
                self.note(submit, answer)
            return
        for submit, result in zip(submits, answer.json["results"], strict=True):
            self.ledger.acked(submit, result["id"])

    def cancel(self, submit):
        self.ledger.cancel_sent(submit)
        answer = self.ask("POST", f"/v1/tasks/{submit.task_id}/cancel")
        if answer is None or answer.status != 200:
            return
        job = self.ask("GET", f"/v1/jobs/{first_job_id(submit.task_id)}")
        if job is not None and job.status == 200 and job.json["state"] == "cancelled":
            self.ledger.cancel_confirmed(submit, now_ms() + 1)
            self.ledger.saw(job.json)

    def retry(self, submit):
        answer = self.ask("POST", f"/v1/jobs/{first_job_id(submit.task_id)}/retry")
        assert answer is None or answer.status in (201, 404, 409, 503), answer


def order_cancelled(client):
    submit = client.submit("/ok", **{"in": client.dice.choice(["6s", "1s", "0s"])})
    if submit:
        client.cancel(submit)


def order_hurried(client):
    submit = client.submit("/ok", **{"in": "6s"})
    if submit:
        submit.hurried = True
        client.ask("POST", f"/v1/tasks/{submit.task_id}/run")


def order_retried(client):
    kept = [submit for submit in client.done[-200:] if not submit.vanishes and not submit.cancel_asked]
    if kept:
        client.retry(client.dice.choice(kept))


def order_held(client):
    client.ask("POST", f"/v1/queues/{PAUSED_QUEUE}/pause")
    client.submit("/ok", queue=PAUSED_QUEUE)
    client.submit("/ok", queue=PAUSED_QUEUE, not_after="300ms", may_expire=True)
    client.ask("POST", f"/v1/queues/{PAUSED_QUEUE}/resume")


def order_read(client):
    if client.done:
        answer = client.ask("GET", f"/v1/jobs/{first_job_id(client.dice.choice(client.done).task_id)}")
        if answer is not None and answer.status == 200:
            client.ledger.saw(answer.json)


MENU = {
    "now": lambda client: client.submit("/ok", priority=client.dice.randrange(10)),
    "with a key": lambda client: client.submit("/ok", key=True),
    "bulk": lambda client: client.submit_bulk("/ok", client.dice.choice([2, 10, 40])),
    "near": lambda client: client.submit("/ok", at_ms=now_ms() + client.dice.randrange(1, 1500)),
    "other queue": lambda client: client.submit("/ok", queue="other"),
    "fails once": lambda client: client.submit("/fail/1", retry={"max": 3, "delay": "50ms"}),
    "fails for ever": lambda client: client.submit("/status/500", retry={"max": 1, "delay": "0s"}),
    "slow": lambda client: client.submit("/slow/300"),
    "not kept": lambda client: client.submit("/ok", ttl="0s", vanishes=True),
    "cancelled": order_cancelled,
    "hurried": order_hurried,
    "retried by hand": order_retried,
    "held": order_held,
    "read": order_read,
}


def settle(nodes, target, ledger):
    """When the faults are over: lets everything run to its end, then compares. Returns how many had which fate."""
    api = (nodes[0] if isinstance(nodes, list) else nodes).api
    assert api.post(f"/v1/queues/{PAUSED_QUEUE}/resume").status == 200
    api.wait_idle()
    return ledger.assert_clean(api, target)
