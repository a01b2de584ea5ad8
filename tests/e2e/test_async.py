"""A target answers 202 with Rota-Async: 1 and says later how it went: from anywhere, once, with the token it was sent."""

import concurrent.futures
import contextlib
import os
import re
import sqlite3

import pytest

from support.client import Api, first_job_id
from support.rota import Rota
from support.times import to_ms
from support.wait import now_ms, pass_time, wait_until

RESULT = b'{"b":  1.50,\n "a": [ ], "b\\u00e4": "\xc3\xa4"}'


def say(api, job_id, word, token, **fields):
    return api.post(f"/v1/jobs/{job_id}/{word}", {"token": token, **fields})


def refused(answer, status, code, field=None):
    assert (answer.status, answer.type) == (status, "application/problem+json"), answer
    assert answer.json["code"] == code and answer.json.get("field") == field, answer
    return True


def call_of(target, job_id, attempt=1):
    """The call that an attempt made, with its token."""
    call = target.wait_calls(attempt, job_id=job_id)[attempt - 1]
    assert re.fullmatch(r"1-[0-9a-f]+-[0-9a-f]{32}", call.header("Rota-Token")), "the tenant, the claim and the signature"
    return call


def leased(api, target, path="/later", **fields):
    """A job whose target has answered 202, as its record shows, and the token."""
    task = api.submit(target.url(path), **fields)
    job_id = first_job_id(task["id"])
    wait_until(lambda: api.job(job_id)["lease_until"], "its lease is written")
    return job_id, call_of(target, job_id).header("Rota-Token")


def test_a_job_is_completed_later_with_a_result(api, target):
    job_id, token = leased(api, target, timeout="10m")
    job = api.job(job_id)
    assert (job["state"], job["status"], job["response"], job["completed_at"]) == ("reserved", 202, "I will say", None)
    assert to_ms(job["lease_until"]) == to_ms(job["started_at"]) + 600_000
    assert [attempt["outcome"] for attempt in job["attempts"]] == [None]
    answer = api.post(f"/v1/jobs/{job_id}/complete", b'{"token": "%s", "result": %s}' % (token.encode(), RESULT))
    assert answer.status == 200, answer
    assert b'"result":' + RESULT + b"," in answer.body, "the result is not the bytes that came"
    job = api.job(job_id)
    assert job == answer.json
    assert (job["state"], job["lease_until"], job["progress"], job["retry_count"]) == ("success", None, None, 0)
    assert job["delays"]["target"] == to_ms(job["completed_at"]) - to_ms(job["started_at"])
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["success"]
    assert len(target.calls()) == 1


def test_the_same_completion_again_is_fine_and_another_is_refused(api, target):
    job_id, token = leased(api, target)
    for _ in range(3):
        answer = say(api, job_id, "complete", token, result=[1])
        assert (answer.status, answer.json["state"], answer.json["result"]) == (200, "success", [1])
    refused(say(api, job_id, "complete", token, result=[2]), 409, "illegal_transition")
    refused(say(api, job_id, "complete", token), 409, "illegal_transition")
    refused(say(api, job_id, "fail", token, reason="no"), 409, "illegal_transition")
    refused(say(api, job_id, "heartbeat", token), 409, "illegal_transition")
    assert api.job(job_id)["result"] == [1]


def test_a_deleted_task_has_no_attempt_to_speak_of(api, target):
    job_id, token = leased(api, target, timeout="10m")
    assert api.request("DELETE", f"/v1/tasks/t{job_id[1:]}").status == 204
    for word, fields in [("heartbeat", {}), ("complete", {"result": 1}), ("fail", {"reason": "no"})]:
        refused(say(api, job_id, word, token, **fields), 404, "not_found")
    assert sum(api.read("/v1/stats")["states"].values()) == 0


def test_without_a_result_it_is_null(api, target):
    job_id, token = leased(api, target)
    assert say(api, job_id, "complete", token, result=None).json["result"] is None
    assert say(api, job_id, "complete", token).status == 200


def test_a_failure_is_tried_again_under_a_new_token(api, target):
    job_id, old = leased(api, target, retry={"max": 1, "delay": "0s"})
    answer = say(api, job_id, "fail", old, reason="no disk")
    assert answer.status == 200 and answer.json["attempts"][0]["outcome"] == "failed"
    new = call_of(target, job_id, attempt=2).header("Rota-Token")
    assert new != old
    wait_until(lambda: api.job(job_id)["lease_until"], "the second attempt is answered")
    for word, more in (("complete", {}), ("fail", {"reason": "no disk"}), ("heartbeat", {})):
        refused(say(api, job_id, word, old, **more), 409, "lease_lost")
    answer = say(api, job_id, "fail", new, reason="no disk again")
    assert (answer.status, answer.json["state"], answer.json["reason"]) == (200, "aborted", "no disk again")
    assert say(api, job_id, "fail", new, reason="no disk again").status == 200
    refused(say(api, job_id, "fail", new, reason="something else"), 409, "illegal_transition")
    assert [(one["outcome"], one["reason"]) for one in api.job(job_id)["attempts"]] == [
        ("failed", "no disk"),
        ("failed", "no disk again"),
    ]


def test_a_failure_for_good_is_not_tried_again(api, target):
    job_id, token = leased(api, target, retry={"max": 5})
    answer = say(api, job_id, "fail", token, reason="there is no such account", retry=False)
    assert (answer.json["state"], answer.json["retry_count"]) == ("aborted", 0)


def test_silence_is_a_timeout(api, target):
    job_id, old = leased(api, target, path="/later/1", timeout="1s", retry={"max": 1, "delay": "0s"})
    job = api.wait_state(job_id, "success")
    assert [one["outcome"] for one in job["attempts"]] == ["timeout", "success"]
    first = job["attempts"][0]
    assert to_ms(first["completed_at"]) - to_ms(first["started_at"]) >= 1000
    assert len(target.calls()) == 2
    refused(say(api, job_id, "complete", old), 409, "lease_lost")


def test_heartbeats_keep_it_and_show_how_far_it_is(api, target):
    job_id, token = leased(api, target, timeout="5s", retry={"max": 0})
    first = to_ms(api.job(job_id)["lease_until"])
    beats = 0
    while now_ms() < first + 2000:
        beats += 1
        answer = say(api, job_id, "heartbeat", token, progress={"beats": beats})
        assert answer.status == 200 and answer.json["state"] == "reserved", answer
        assert answer.json["progress"] == {"beats": beats} and answer.json["result"] is None
        pass_time(0.2)
    job = say(api, job_id, "heartbeat", token).json
    assert to_ms(job["lease_until"]) > first + 5000 and job["progress"] == {"beats": beats}
    assert say(api, job_id, "complete", token, result="done").json["progress"] is None
    assert api.job(job_id)["result"] == "done" and len(target.calls()) == 1


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_between_the_answer_and_the_completion(rota, target, how):
    job_id, token = leased(rota.api, target, timeout="10m")
    before = rota.api.job(job_id)
    getattr(rota, how)()
    rota.start()
    assert rota.api.job(job_id) == before, "the restart changed a job that is in nobody's hand"
    answer = say(rota.api, job_id, "complete", token, result=1)
    assert (answer.status, answer.json["state"]) == (200, "success")
    rota.restart()
    assert say(rota.api, job_id, "complete", token, result=1).status == 200
    assert len(target.calls()) == 1


def test_what_is_cancelled_cannot_be_completed(api, target):
    job_id, token = leased(api, target)
    assert api.post(f"/v1/jobs/{job_id}/cancel").json["state"] == "cancelled"
    refused(say(api, job_id, "complete", token), 409, "illegal_transition")
    refused(say(api, job_id, "heartbeat", token), 409, "illegal_transition")
    job = api.job(job_id)
    assert (job["state"], job["lease_until"]) == ("cancelled", None)
    assert [one["outcome"] for one in job["attempts"]] == ["cancelled"]


def test_the_target_speaks_before_it_answers(rota, target):
    """It even waits for our answer before it gives its own."""
    task = rota.api.submit(target.url("/gate-later/open"), timeout="10m")
    job_id = first_job_id(task["id"])
    token = call_of(target, job_id).header("Rota-Token")
    answer = say(rota.api, job_id, "complete", token, result={"early": True})
    assert (answer.status, answer.json["state"]) == (200, "success"), answer
    target.open("open")
    beside = rota.api.submit(target.url("/ok"))
    assert rota.api.finished(beside["id"])["state"] == "success"
    rota.restart()  # nothing is left in hand
    job = rota.api.job(job_id)
    assert (job["state"], job["result"], len(job["attempts"])) == ("success", {"early": True}, 1)
    assert len(target.calls(job_id=job_id)) == 1


def test_a_target_that_speaks_too_soon_and_then_fails_is_tried_again(api, target):
    task = api.submit(target.url("/gate-later/never"), timeout="10m", retry={"max": 1, "delay": "0s"})
    job_id = first_job_id(task["id"])
    old = call_of(target, job_id).header("Rota-Token")
    assert say(api, job_id, "fail", old, reason="not today").status == 200
    new = call_of(target, job_id, attempt=2).header("Rota-Token")
    assert say(api, job_id, "complete", new).json["state"] == "success"


def test_leased_jobs_take_no_slot(rota, target):
    """More than a host may have calls at once."""
    many = rota.api.submit_many([{"url": target.url("/later"), "timeout": "10m"} for _ in range(400)])
    calls = target.wait_calls(400)
    wait_until(lambda: rota.api.read("/v1/stats")["states"]["reserved"] == 400, "all go on elsewhere")
    assert rota.api.finished(rota.api.submit(target.url("/ok"))["id"])["state"] == "success"

    def complete(call):
        api = Api(rota.where)
        status = say(api, call.job_id, "complete", call.header("Rota-Token"), result=call.job_id).status
        api.close()
        return status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(complete, calls)) == {200}
    assert all(rota.api.first_job(task_id)["result"] == first_job_id(task_id) for task_id in many[::40])
    assert rota.api.pending() == 0


def test_only_both_the_code_and_the_header_mean_later(api, target):
    assert api.finished(api.submit(target.url("/status/202"))["id"])["state"] == "success"


def test_whose_token_it_is_not(api, target):
    job_id, token = leased(api, target)
    other, others = leased(api, target)
    forged = token[:-1] + ("0" if token[-1] != "0" else "1")
    for wrong in (others, forged, "x", token + "0", token.upper() + "A", "1-" + "0" * 32):
        refused(say(api, job_id, "complete", wrong), 409, "lease_lost")
    absent = job_id[:-1] + ("0" if job_id[-1] != "0" else "1")
    for right_or_wrong in (token, "x"):
        refused(say(api, absent, "complete", right_or_wrong), 404, "not_found")
        refused(say(api, "nonsense", "complete", right_or_wrong), 404, "not_found")
    assert api.job(job_id)["state"] == api.job(other)["state"] == "reserved"


@pytest.mark.parametrize(
    "word, body, status, code, field",
    [
        ("complete", "{}", 422, "missing_field", "/token"),
        ("complete", "", 400, "invalid_json", None),
        ("complete", "[]", 422, "invalid_field", None),
        ("complete", '{"token": 1}', 422, "invalid_field", "/token"),
        ("complete", '{"token": ""}', 422, "invalid_field", "/token"),
        ("complete", '{"token": "x", "results": 1}', 422, "unknown_field", "/results"),
        ("complete", '{"token": "x", "token": "y"}', 400, "invalid_json", None),
        ("complete", '{"token": "x", "result": 1e999}', 400, "invalid_json", None),
        ("complete", '{"token": "x", "reason": "y"}', 422, "unknown_field", "/reason"),
        ("fail", '{"token": "x"}', 422, "missing_field", "/reason"),
        ("fail", '{"token": "x", "reason": ""}', 422, "invalid_field", "/reason"),
        ("fail", '{"token": "x", "reason": "%s"}' % ("y" * 1025), 422, "invalid_field", "/reason"),
        ("fail", '{"token": "x", "reason": "y", "retry": 1}', 422, "invalid_field", "/retry"),
        ("heartbeat", '{"token": "x", "result": 1}', 422, "unknown_field", "/result"),
        ("heartbeat", '{"token": "x", "progress": "%s"}' % ("y" * 4095), 413, "too_large", "/progress"),
        ("release", '{"token": "x"}', 404, "not_found", None),
    ],
)
def test_bad_words_are_refused(shared_api, word, body, status, code, field):
    refused(shared_api.post(f"/v1/jobs/j0000000000001/{word}", body), status, code, field)


def test_a_result_may_have_a_mebibyte(api, target):
    job_id, token = leased(api, target)
    most = 1 << 20
    refused(say(api, job_id, "complete", token, result="x" * (most - 1)), 413, "too_large", "/result")
    refused(say(api, job_id, "complete", token, result="x" * (most * 2)), 413, "too_large")
    answer = say(api, job_id, "complete", token, result="x" * (most - 2))
    assert answer.status == 200 and answer.json["result"] == "x" * (most - 2)
    assert api.job(job_id)["result"] == "x" * (most - 2)
    (listed,) = api.jobs("t" + job_id[1:])  # a thousand of these would be a gigabyte
    assert (listed["result"], listed["result_left_out"]) == (None, True)
    assert say(api, job_id, "complete", token, result="x" * (most - 2)).status == 200


@pytest.mark.stores("postgres")
def test_any_node_takes_the_word_and_no_death_ends_the_attempt(nodes, target):
    job_id, token = leased(nodes[0].api, target, timeout="10m")
    caller = nodes[0].api.job(job_id)["executor"]
    dead = next(node for node in nodes if f"this node is incarnation {caller}" in node.log_text())
    alive = [node for node in nodes if node is not dead]
    dead.kill()
    assert say(alive[0].api, job_id, "heartbeat", token).status == 200
    wait_until(lambda: any("took back" in node.log_text() for node in alive), "its death is noticed", timeout=60)
    assert alive[0].api.job(job_id)["state"] == "reserved", "the death of a node that had nothing in hand ended an attempt"
    answer = say(alive[1].api, job_id, "complete", token, result=2)
    assert (answer.status, answer.json["state"], len(answer.json["attempts"])) == (200, "success", 1)
    assert say(alive[0].api, job_id, "complete", token, result=2).status == 200
    dead.start()
    assert len(target.calls()) == 1


# ---- a secret that is not the store's


@pytest.fixture
def secret(tmp_path):
    """The option that names a file with a secret."""
    file = tmp_path / "secret"
    file.write_bytes(os.urandom(32))
    file.chmod(0o600)
    return ["--secret-file", str(file)]


@contextlib.contextmanager
def server(**given):
    rota = Rota(**given)
    try:
        rota.start()
        yield rota
    finally:
        rota.close()


def test_tokens_of_before_stay_good_when_a_secret_file_is_given(rota, target, secret):
    before, of_store = leased(rota.api, target, timeout="10m")
    rota.options += secret
    rota.restart()
    after, of_file = leased(rota.api, target, timeout="10m")
    assert say(rota.api, before, "complete", of_store, result=1).json["state"] == "success"
    assert say(rota.api, after, "heartbeat", of_file).status == 200
    rota.restart()
    assert say(rota.api, after, "heartbeat", of_file).status == 200
    rota.options = rota.options[: -len(secret)]
    rota.restart()
    refused(say(rota.api, after, "complete", of_file), 409, "lease_lost")
    assert say(rota.api, before, "complete", of_store, result=1).status == 200


def test_a_token_of_another_database_is_no_token_of_a_job_here(place, target, secret):
    with server(**place, options=secret) as here, server(options=secret) as there:
        job_id, token = leased(here.api, target, timeout="10m")
        other, others = leased(there.api, target, timeout="10m")
        refused(say(there.api, job_id, "complete", token), 404, "not_found")
        refused(say(there.api, other, "complete", token), 409, "lease_lost")
        assert say(here.api, job_id, "complete", token).json["state"] == "success"
        assert say(there.api, other, "complete", others).json["state"] == "success"


@pytest.mark.stores("sqlite")
def test_the_same_file_is_enough_to_read_a_token_under_another_stores_secret(place, target, secret, tmp_path):
    with server(**place, options=secret) as here:
        job_id, token = leased(here.api, target, timeout="10m")
        copy = here.api.get("/v1/backup").body
    data = tmp_path / "data"
    data.mkdir()
    (data / "rota.db").write_bytes(copy)
    with contextlib.closing(sqlite3.connect(data / "rota.db")) as connection, connection:
        assert connection.execute("UPDATE meta SET value = ? WHERE name = 'secret'", [os.urandom(32)]).rowcount == 1
    with server(data=data) as there:
        refused(say(there.api, job_id, "complete", token), 409, "lease_lost")
    with server(data=data, options=secret) as there:
        assert say(there.api, job_id, "complete", token).json["state"] == "success"


def test_a_secret_that_everybody_may_read_is_used_with_a_warning(target, tmp_path):
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef" * 2)
    file.chmod(0o444)
    with server(options=["--secret-file", str(file)]) as rota:
        assert f"secret_file {file} can be read by everybody on this machine (mode 0444)" in rota.log_text()
        assert "0123456789abcdef" not in rota.log_text()
        job_id, token = leased(rota.api, target)
        assert say(rota.api, job_id, "complete", token).status == 200
