"""Benches that are tests of the e2e suite, on the release build: kill, faults."""

import json
import os
import subprocess
import tempfile

from parts import ROOT, TREE, Wrong
from report import figure, record


def passes(*words, **env):
    env = dict(os.environ, ROTA_BIN=str(TREE / "src" / "rota"), ROTA_TEST_DIR=str(TREE / "scratch"), **env)
    command = ["/usr/bin/python3", "-m", "pytest", *words, "-q", "-s", "-p", "no:cacheprovider", "--timeout=0"]
    return subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode == 0


def kill(options):
    rounds = options.rounds or 100
    passed = passes("tests/e2e/test_kill.py", ROTA_KILL_ROUNDS=str(rounds))
    record("kill", "sqlite", [{"name": "kill: rounds", "figure": rounds, "passed": passed}], {})
    if not passed:
        raise Wrong(f"the ledger checker found something in {rounds} rounds of SIGKILL")


def faults(_):
    """What is promised of the times at which nodes and the database come and go."""
    with tempfile.NamedTemporaryFile("r") as told:
        if not passes("tests/e2e/test_database_away.py", "tests/e2e/test_cluster.py", "-k", "killed_every or hanging or refusing or frozen_for",
                      ROTA_FIGURES=told.name):
            raise Wrong("a test did not pass")
        lines = [json.loads(line) for line in told]
    record("faults", "postgres", [figure(f"{line['name']}, s", line["seconds"], line["budget"], False) for line in lines], {})
