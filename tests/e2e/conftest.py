"""What every end-to-end test gets: a server of its own, a target of its own, and both logs when it fails."""

import resource

import pytest

from support.rota import Rota
from support.target import Target


def pytest_configure(config):
    # The target keeps a connection for each call that hangs, and a server under test inherits the limit.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for rota in Rota.running:
            report.sections.append((f"rota log of {rota.data}", rota.log_text()))


@pytest.fixture
def target():
    target = Target()
    yield target
    target.close()


@pytest.fixture
def rota():
    """A fresh server, up and ready. At the end it must still be able to stop gracefully with exit code 0."""
    rota = Rota()
    rota.start()
    yield rota
    rota.close()


@pytest.fixture
def api(rota):
    return rota.api


@pytest.fixture(scope="session")
def shared():
    """One server for the tests that leave nothing behind that matters to others."""
    rota = Rota()
    rota.start()
    yield rota
    rota.close()


@pytest.fixture
def shared_api(shared):
    return shared.api


@pytest.fixture
def idle_rota():
    """A server that is not started yet, for tests that decide how; whatever still runs at the end is stopped gracefully."""
    rota = Rota()
    yield rota
    rota.close()
