"""Few file descriptors: what is not there is not used up by one side of the server and missing on the other."""

import socket

import pytest

from support.rota import Rota, binary
from support.wait import wait_until

FEW = 64


@pytest.fixture
def tight(place):
    rota = Rota(**place, command=["prlimit", f"--nofile={FEW}:{FEW}", "--", binary()])
    rota.start()
    yield rota
    rota.close()


def test_a_crowd_of_clients_costs_no_job_its_attempt(tight, target):
    crowd = [socket.create_connection(tight.where()) for _ in range(2 * FEW)]
    for client in crowd:
        client.close()
    held = tight.api.submit_many([{"url": target.url(f"/gate/all/{i}"), "retry": {"max": 0}} for i in range(4 * FEW)])
    crowd = [socket.create_connection(tight.where()) for _ in range(2 * FEW)]
    target.open("all")
    for client in crowd:
        client.close()
    tight.api.close()  # the kept connection may have to make room for them
    wait_until(lambda: tight.api.get("/v1/stats").status == 200, "the server has seen them leave")
    jobs = [tight.api.finished(task_id) for task_id in held]
    assert {job["state"] for job in jobs} == {"success"}, [job["attempts"] for job in jobs if job["state"] != "success"][:3]


def test_the_api_answers_while_connections_to_targets_are_kept(tight, target):
    held = tight.api.submit_many([{"url": target.url(f"/gate/all/{i}")} for i in range(4 * FEW)])
    wait_until(lambda: len(target.calls()) > 0, "some of them are under way")
    tight.api.close()
    assert tight.api.get("/healthz").status == 200
    target.open("all")
    for task_id in held:
        tight.api.finished(task_id)
    tight.api.close()
    assert tight.api.get("/healthz").status == 200
