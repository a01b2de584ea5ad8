"""A full disk: submits are refused with storage_full, never acknowledged and lost.

With room again it goes on without a restart.
"""

import os
import resource
import subprocess

import pytest

from support.ledger import Ledger
from support.rota import Rota, scratch_dir
from support.wait import wait_until

BODY = "x" * 8192


class SmallDisk:
    """A tmpfs of a few MiB: the one place where it does not matter that nothing is durable, because nothing is killed."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "rota-test", path], check=True)

    def grow(self):
        subprocess.run(["mount", "-o", "remount,size=256m", self.path], check=True)

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=True)
        os.rmdir(self.path)


@pytest.fixture
def disk():
    assert os.geteuid() == 0, "mounting a small disk needs root"
    home = scratch_dir()
    disk = SmallDisk(os.path.join(home, "disk"))
    yield disk
    disk.close()
    os.rmdir(home)


@pytest.fixture
def rota_on_it(disk):
    rota = Rota(data=os.path.join(disk.path, "data"))
    rota.start()
    yield rota
    rota.close()


def submit(api, target, ledger, path="/ok", **fields):
    """Returns the answer; the ledger knows what was promised."""
    submit = ledger.new_submit()
    answer = api.post("/v1/tasks", {"url": target.url(f"{path}?{submit.marker}"), "body": BODY, **fields})
    if answer.status == 201:
        ledger.acked(submit, answer.json["id"])
    else:
        assert answer.status == 503, answer
        ledger.refused(submit)
    return answer


def fill(api, target, ledger):
    def refused():
        for _ in range(100):
            answer = submit(api, target, ledger, queue="held")
            if answer.status == 503:
                return answer
        return None

    answer = wait_until(refused, "the disk is full", interval=0)
    assert answer.json["code"] == "storage_full", answer
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.type == "application/problem+json"


def test_a_full_disk_is_said_and_survived(disk, rota_on_it, target):
    rota, api, ledger = rota_on_it, rota_on_it.api, Ledger()
    assert api.post("/v1/queues/held/pause").status == 200
    running = submit(api, target, ledger, "/gate/full", timeout="10m").json
    target.wait_calls(1)

    fill(api, target, ledger)
    assert submit(api, target, ledger).status in (201, 503), "small things may still fit, but nothing else may happen"
    assert api.get("/healthz").status == 200
    assert api.task(running["id"])["id"] == running["id"], "reading goes on"
    target.open("full")

    disk.grow()
    wait_until(lambda: submit(api, target, ledger).status == 201, "it takes tasks again", interval=0.2)
    assert not rota.dead()
    wait_until(lambda: api.get("/readyz").status == 200, "it is ready again")
    assert api.finished(running["id"])["state"] == "success", "what ended while the disk was full is written now"

    assert api.post("/v1/queues/held/resume").status == 200
    api.wait_idle()
    ledger.assert_clean(api, target)


def test_what_was_acknowledged_before_a_full_disk_survives_a_kill(disk, rota_on_it, target):
    rota, ledger = rota_on_it, Ledger()
    assert rota.api.post("/v1/queues/held/pause").status == 200
    fill(rota.api, target, ledger)
    rota.kill()
    disk.grow()
    rota.start()
    assert rota.api.post("/v1/queues/held/resume").status == 200
    rota.api.wait_idle()
    ledger.assert_clean(rota.api, target)


def test_what_a_full_disk_refused_does_not_come_to_life_after_a_kill(disk, rota_on_it, target):
    rota, ledger = rota_on_it, Ledger()
    assert rota.api.post("/v1/queues/held/pause").status == 200
    fill(rota.api, target, ledger)
    disk.grow()
    wait_until(lambda: rota.api.post("/v1/queues/other/pause").status == 200, "there is room")
    rota.kill()
    rota.start()
    assert rota.api.post("/v1/queues/held/resume").status == 200
    rota.api.wait_idle()
    ledger.assert_clean(rota.api, target)


@pytest.mark.stores("sqlite")
def test_a_limit_on_the_size_of_files_is_a_full_disk(rota, api, target):
    ledger = Ledger()
    assert api.post("/v1/queues/held/pause").status == 200
    largest = max(os.path.getsize(os.path.join(rota.data, name)) for name in os.listdir(rota.data))
    _, most = resource.prlimit(rota.process.pid, resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))
    fill(api, target, ledger)
    assert "full" in str(api.get("/readyz").json)
    resource.prlimit(rota.process.pid, resource.RLIMIT_FSIZE, (most, most))
    wait_until(lambda: submit(api, target, ledger).status == 201, "it takes tasks again", interval=0.2)
    wait_until(lambda: api.get("/readyz").status == 200, "it is ready again")
    rota.kill()
    rota.start()
    assert api.post("/v1/queues/held/resume").status == 200
    api.wait_idle()
    ledger.assert_clean(api, target)
