"""What happens to PostgreSQL under three nodes at work: killed, hanging, refusing, an answer lost, a snapshot held open.

While it is away every request is answered, with 503 and Retry-After; after its return everything works again; and in the end nothing
is lost and no second run unexplained. How long that took is for `./dev bench faults`.
"""

import contextlib
import signal
import subprocess
import time

import pytest

from support.ledger import Ledger
from support.load import Load, settle
from support.probe import Outage, Probes
from support.proxy import Proxy
from support.rota import Rota
from support.wait import pass_time, wait_until

pytestmark = [pytest.mark.stores("postgres"), pytest.mark.slow]

RATE = 60  # submits a second


class Away:
    """Nodes under load, and when their database was away."""

    def __init__(self, cluster, nodes, target):
        self.cluster, self.nodes, self.target, self.ledger = cluster, nodes, target, Ledger()
        self.load = Load(nodes, target, self.ledger, rate=RATE)
        self.probes = Probes(nodes, target, self.ledger)
        self.outages = []

    def __enter__(self):
        self.load.__enter__()
        self.probes.__enter__()
        self.load.wait_acked(RATE)
        return self

    def __exit__(self, *_):
        self.probes.__exit__()
        self.load.__exit__()

    @contextlib.contextmanager
    def outage(self, go, come):
        """`come` brings it back and returns since when it is, on time.monotonic()."""
        going = time.monotonic()
        go()
        gone = time.monotonic()
        try:
            yield
        finally:
            coming = time.monotonic()
            self.outages.append(Outage(going, gone, coming, come()))
        self.probes.wait_back(self.outages[-1])
        self.load.wait_acked(RATE)

    def check(self, fault):
        assert self.load.failures == []
        self.probes.check(self.outages, fault)
        fates = settle(self.nodes, self.target, self.ledger)
        print(f"{self.probes.refusals()} refused; {fates}, {len(self.target.calls())} calls, all accounted for")


def test_killed_every_few_seconds(own_cluster, its_nodes, target):
    def come():
        own_cluster.start()
        return own_cluster.up_since

    with Away(own_cluster, its_nodes, target) as away:
        for work_s, down_s in [(5, 0), (4, 6), (8, 0), (5, 1)]:
            pass_time(work_s)
            with away.outage(lambda: own_cluster.stop(signal.SIGQUIT), come):
                pass_time(down_s)
    away.check("killed")


def test_who_had_nothing_to_do_meanwhile_takes_the_first_submit(own_cluster, store, target):
    """Its connections are dead, and it must not find that out by failing."""
    rota = Rota(store=own_cluster.url())
    try:
        rota.start()
        rota.api.submit(target.url("/ok/before"))
        own_cluster.stop(signal.SIGQUIT)
        wait_until(lambda: rota.api.get("/readyz").status == 503, "it has noticed that the database is away")
        own_cluster.start()
        rota.wait_ready()
        rota.api.submit(target.url("/ok/after"))
        assert "the store answers again" in rota.log_text()
        rota.api.wait_idle()
    finally:
        rota.close()


def test_hanging_for_30_s(own_cluster, its_nodes, target):
    def come():
        own_cluster.thaw()
        return time.monotonic()

    with Away(own_cluster, its_nodes, target) as away:
        with away.outage(own_cluster.freeze, come):
            pass_time(30)
        assert away.probes.refusals() > 0
    away.check("hanging")


def test_refusing_connections(own_cluster, its_nodes, target):
    def come():
        own_cluster.accept()
        return time.monotonic()

    with Away(own_cluster, its_nodes, target) as away:
        with away.outage(own_cluster.refuse, come):
            pass_time(12)
        assert away.probes.refusals() > 0
    away.check("refusing")


def test_a_connection_cut_right_after_commit(cluster, store, target):
    """The task was stored, and the client is told that nobody knows. With its key it finds it, through whichever node."""
    with cluster.new_schema() as schema:
        proxy = Proxy(cluster.port)
        behind, beside = Rota(store=cluster.url(schema, port=proxy.port)), Rota(store=cluster.url(schema))
        try:
            behind.start()
            beside.start()
            for number in range(6):
                key, asked = f"cut-{number}", [behind, beside][number % 2]
                task = {"url": target.url(f"/ok/{key}"), "key": key}
                proxy.lose_answer_to(key.encode())
                lost = behind.api.post("/v1/tasks", task)
                assert proxy.cuts == number + 1, "the proxy has not met the commit"
                assert (lost.status, lost.json["code"], bool(lost.headers["Retry-After"])) == (503, "store_unavailable", True)
                again = asked.api.post("/v1/tasks", task)
                assert again.status == 200, f"it was stored, so it is found and not added: {again}"
                assert asked.api.finished(again.json["id"])["state"] == "success"
                assert {call.task_id for call in target.calls(path=f"/ok/{key}")} == {again.json["id"]}
                assert len(target.calls(path=f"/ok/{key}")) == 1
            assert sum(beside.api.read("/v1/stats")["states"].values()) == 6
        finally:
            behind.close()
            beside.close()
            proxy.close()


def test_a_snapshot_held_open_for_30_s(own_cluster, its_nodes, target):
    """What is claimed and finished meanwhile cannot be cleaned up, and yet work goes on."""
    ledger = Ledger()
    with Load(its_nodes, target, ledger, rate=2 * RATE) as load, snapshot(own_cluster) as is_held:
        began, api = time.monotonic(), its_nodes[0].api
        while time.monotonic() - began < 30:
            done = api.read("/v1/stats")["states"]["success"]
            load.wait_acked(RATE)
            for task_id in submit_planned(api, target, ledger):
                assert api.finished(task_id)["sla_met"] is True
            assert api.read("/v1/stats")["states"]["success"] >= done + 10
            assert load.failures == []
        assert is_held()
    settle(its_nodes, target, ledger)


def submit_planned(api, target, ledger):
    """Not for now, so somebody has to claim them."""
    submits = [ledger.new_submit() for _ in range(10)]
    ids = api.submit_many([{"url": target.url(f"/ok?{submit.marker}"), "in": "1s"} for submit in submits])
    for submit, task_id in zip(submits, ids):
        ledger.acked(submit, task_id)
    return ids


@contextlib.contextmanager
def snapshot(cluster):
    """A transaction that has looked at the database and does not end. Gives a function that says whether it still is so."""
    held = "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND application_name = 'holds'"
    with subprocess.Popen([*cluster.psql(), "-f", "-"], stdin=subprocess.PIPE, text=True) as psql:
        look = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM rota.jobs LIMIT 1"
        psql.stdin.write(f"SET application_name = 'holds'; {look};\n")
        psql.stdin.flush()
        is_held = lambda: cluster.sql(held) == "1"
        wait_until(is_held, "a snapshot is held")
        yield is_held
