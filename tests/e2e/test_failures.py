"""The log tells of every job that ended as a failure: of a few with all there is to say, of the others how many they were."""

import json
import re
import subprocess

from support.client import first_job_id
from support.rota import binary
from support.wait import wait_until

LINE = re.compile(r" warn +job (\w+) of task (\w+), queue (\w+)(?:, name (\".*\"))?, ended (\w+) after attempt (\d+): (\w+)(?:, (\".*\"))?$", re.M)
SUM = re.compile(r" warn +and (\d+) more jobs? ended (\w+)")


def test_a_failure_is_one_line_that_says_what_failed_and_why(rota, target):
    secret = "a-secret-nobody-may-read"
    task = rota.api.submit(target.url("/status/500/log"), name='say "what"\n', queue="told", retry={"max": 1, "delay": "10ms"},
                           headers={"X-Api-Key": secret}, body=secret)
    job = first_job_id(task["id"])
    found = wait_until(lambda: LINE.findall(rota.log_text()), "the log tells of the failure")
    assert found == [(job, task["id"], "told", r'"say \"what\"\n"', "aborted", "2", "failed", '"HTTP 500"')]
    assert rota.api.job(job)["state"] == "aborted"
    assert secret not in rota.log_text()


def test_who_retries_or_is_cancelled_has_not_failed(rota, target):
    retried = rota.api.submit(target.url("/fail/1/log"), retry={"max": 1, "delay": "10ms"})
    cancelled = rota.api.submit(target.url("/ok/log"), **{"in": "1h"})
    rota.api.post(f"/v1/tasks/{cancelled['id']}/cancel")
    rota.api.wait_state(first_job_id(retried["id"]), "success")
    assert not LINE.findall(rota.log_text())


def test_however_many_fail_none_is_forgotten(rota, target):
    count = 300
    rota.api.submit_many([{"url": target.url("/status/500/many"), "retry": {"max": 0}}] * count)
    rota.api.wait_idle()
    rota.stop()
    log = rota.log_text()
    shown, more = LINE.findall(log), [int(number) for number, state in SUM.findall(log) if state == "aborted"]
    assert len({line[0] for line in shown}) == len(shown) < count
    assert len(shown) + sum(more) == count


def test_tail_shows_a_failure_without_being_asked_for_it(rota, target):
    command = [binary(), "tail", "--server", rota.url, "-o", "jsonl", "--count", "3"]
    tail = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert json.loads(tail.stdout.readline())["type"] == "ready"
    rota.api.submit(target.url("/status/500/tail"), retry={"max": 0})
    out, _ = tail.communicate(timeout=60)
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["type"] for event in events] == ["submitted", "started", "aborted"]
    assert events[-1]["reason"] == "HTTP 500"
