"""GET /metrics: Prometheus can read it, and it says what happened."""

import re

import pytest

from support.times import to_ms
from support.wait import now_ms, wait_until

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')


def parse(text):
    """{metric: {labels: value}}; as strict as the format, version 0.0.4, allows to be."""
    assert text.endswith("\n")
    types, helps, found, last = {}, {}, {}, None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            assert name not in helps and re.fullmatch(NAME, name) and words, line
            helps[name] = words
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helps and name not in types and kind in ("counter", "gauge", "histogram"), line
            types[name], last = kind, name
        else:
            name, labels, value = parse_sample(line)
            assert base_of(name, types) == last, f"{line}: its TYPE does not come right before it"
            series = found.setdefault(name, {})
            assert labels not in series, f"{line}: twice"
            series[labels] = value
    assert set(types) == set(helps)
    check_kinds(types, found)
    return found


def parse_sample(line):
    match = SAMPLE.fullmatch(line)
    assert match, line
    name, labels, value = match.groups()
    pairs = []
    if labels is not None:
        pairs = LABEL.findall(labels)
        assert ",".join(f'{name}="{text}"' for name, text in pairs) == labels, line
        assert len({name for name, _ in pairs}) == len(pairs), line
    return name, tuple(sorted(pairs)), float(value)


def base_of(name, types):
    for suffix in ("_bucket", "_sum", "_count"):
        if name.endswith(suffix) and types.get(name.removesuffix(suffix)) == "histogram":
            return name.removesuffix(suffix)
    return name


def check_kinds(types, found):
    for name, kind in types.items():
        if kind == "counter":
            assert name.endswith("_total") and all(value >= 0 for value in found[name].values()), name
        if kind == "histogram":
            check_histogram(name, found)


def check_histogram(name, found):
    for labels, count in found[name + "_count"].items():
        buckets = [(float(dict(key)["le"]), value) for key, value in found[name + "_bucket"].items()
                   if tuple(pair for pair in key if pair[0] != "le") == labels]
        assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets), name
        assert buckets[-1] == (float("inf"), count), name
        assert found[name + "_sum"][labels] >= 0


def metrics(rota):
    answer = rota.api.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(answer.body.decode())


def value(found, name, **labels):
    return found[name][tuple(sorted(labels.items()))]


def test_it_is_in_the_format_and_all_is_described(shared):
    found = metrics(shared)
    assert value(found, "rota_store_up") == 1
    assert value(found, "rota_nodes_alive") >= 1
    assert value(found, "process_open_fds") > 3 and value(found, "process_resident_memory_bytes") > 1e6
    (build,) = found["rota_build_info"]
    assert dict(build)["version"] == shared.cli("version").stdout.split()[-1]
    (node,) = found["rota_node_info"]
    assert dict(node)["incarnation"].startswith("i")


def test_it_counts_what_happened(rota, target):
    rota.api.submit_many([{"url": target.url("/ok/a")} for _ in range(7)])
    rota.api.submit_many([{"url": target.url("/status/500"), "retry": {"max": 1, "delay": "0s"}} for _ in range(2)])
    planned = rota.api.submit(target.url("/ok/b"), queue="later", **{"in": "1h"})
    wait_until(lambda: rota.api.pending() == 1, "all but the planned one have ended")
    wait_until(lambda: value(metrics(rota), "rota_jobs_finished_total", state="aborted") == 2, "all ends are counted")
    found = metrics(rota)
    assert value(found, "rota_jobs_submitted_total") == 10
    assert value(found, "rota_attempts_started_total") == 11
    assert value(found, "rota_jobs_retried_total") == 2
    assert value(found, "rota_jobs_finished_total", state="success") == 7
    assert value(found, "rota_attempts_total", outcome="success") == 7
    assert value(found, "rota_attempts_total", outcome="failed") == 4
    assert value(found, "rota_sla_met_total") == 11
    assert value(found, "rota_job_start_delay_seconds_count") == 11
    assert value(found, "rota_job_stage_delay_seconds_count", stage="target") == 11
    assert 1 <= value(found, "rota_submit_commit_seconds_count") <= 10
    assert value(found, "rota_jobs", state="success") == 7 and value(found, "rota_jobs", state="delayed") == 1
    assert value(found, "rota_queue_jobs", queue="later", state="delayed") == 1
    assert value(found, "rota_queue_paused", queue="later") == 0
    assert rota.api.post(f"/v1/tasks/{planned['id']}/cancel").status == 200
    wait_until(lambda: value(metrics(rota), "rota_jobs_finished_total", state="cancelled") == 1, "the cancel is counted")


def test_a_late_start_is_counted_with_its_stage(rota, target):
    assert rota.api.post("/v1/queues/q/pause").status == 200
    task = rota.api.submit(target.url("/ok/a"), queue="q", sla="1ms")
    wait_until(lambda: rota.api.first_job(task["id"])["state"] == "ready", "it waits")
    wait_until(lambda: now_ms() > to_ms(task["scheduled_at"]) + 100, "it is late, by whatever clock")
    assert rota.api.post("/v1/queues/q/resume").status == 200
    job = rota.api.finished(task["id"])
    found = metrics(rota)
    assert not job["sla_met"]
    assert value(found, "rota_sla_missed_total", stage=job["late_stage"]) == 1 and value(found, "rota_sla_met_total") == 0


@pytest.mark.stores("postgres")
def test_every_node_has_its_own_and_sees_the_others(divided, target):
    """Also one that takes no other requests."""
    first, _, runs = divided
    first.api.finished(first.api.submit(target.url("/ok/a"))["id"])
    wait_until(lambda: value(metrics(first), "rota_nodes_alive") == 3, "all three are seen")
    wait_until(lambda: value(metrics(runs), "rota_jobs_finished_total", state="success") == 1, "the end is counted where it ran")
    assert value(metrics(first), "rota_jobs_submitted_total") == 1 and value(metrics(first), "rota_attempts_started_total") == 0
    assert value(metrics(runs), "rota_jobs_submitted_total") == 0 and value(metrics(runs), "rota_attempts_started_total") == 1
    assert value(metrics(runs), "rota_jobs", state="success") == 1


@pytest.mark.stores("postgres")
def test_a_database_that_is_away_is_said_and_the_rest_is_there(own_cluster, its_nodes):
    rota = its_nodes[0]
    own_cluster.stop()
    try:
        wait_until(lambda: value(metrics(rota), "rota_store_up") == 0, "the store is said to be away")
        found = metrics(rota)
        assert "rota_jobs" not in found and value(found, "rota_jobs_submitted_total") == 0
    finally:
        own_cluster.start()
    wait_until(lambda: value(metrics(rota), "rota_store_up") == 1, "and to be back")
