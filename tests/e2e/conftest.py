"""What every end-to-end test gets: a server of its own, a target of its own, and both logs when it fails.

Whoever asks for a server is run once for each store. What is about one of them says so: @pytest.mark.stores("sqlite").
ROTA_TEST_STORES limits a whole run.
"""

import contextlib
import os
import resource

import pytest

from support.postgres import Cluster
from support.problem import stored
from support.rota import Rota
from support.target import Target

STORES = ["sqlite", "postgres"]


def pytest_configure(config):
    # The target keeps a connection for each call that hangs, and a server under test inherits the limit.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


def pytest_generate_tests(metafunc):
    if "store" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("stores")
        metafunc.parametrize("store", mark.args if mark else STORES, indirect=True, scope="session")


def pytest_collection_modifyitems(config, items):
    wanted = os.environ.get("ROTA_TEST_STORES", " ".join(STORES)).split()
    store_of = lambda item: item.callspec.params.get("store") if hasattr(item, "callspec") else None
    left_out = [item for item in items if store_of(item) not in [None, *wanted]]
    config.hook.pytest_deselected(items=left_out)
    # xdist hands out the last ones in small lots: so those that take long are shared out evenly.
    kept = [item for item in items if item not in left_out]
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("slow") is not None)


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


@pytest.fixture(scope="session")
def store(request):
    """The scheme of the store under test."""
    return request.param


@contextlib.contextmanager
def new_cluster():
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def cluster():
    """One PostgreSQL for all tests of a worker that do it no harm."""
    with new_cluster() as cluster:
        yield cluster


@contextlib.contextmanager
def new_place(request, store):
    """What a server has to be told to begin with an empty store."""
    if store == "sqlite":
        yield {}
        return
    cluster = request.getfixturevalue("cluster")
    with cluster.new_schema() as schema:
        yield {"store": cluster.url(schema)}


@pytest.fixture
def place(request, store):
    with new_place(request, store) as place:
        yield place


@contextlib.contextmanager
def started(nodes):
    """Servers, up and ready. At the end those that still run must be able to stop gracefully with exit code 0."""
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.close()


@pytest.fixture
def rota(place):
    """A fresh server."""
    with started([Rota(**place)]) as [rota]:
        yield rota


@pytest.fixture
def api(rota):
    return rota.api


@pytest.fixture(scope="session")
def shared(request, store):
    """One server for the tests that leave nothing behind that matters to others."""
    with new_place(request, store) as place, started([Rota(**place)]) as [rota]:
        yield rota


@pytest.fixture
def shared_api(shared):
    return shared.api


@pytest.fixture(scope="session")
def tried(request, store):
    """One server for all bad input: nobody else submits to it, so that what it stores can be counted."""
    with new_place(request, store) as place, started([Rota(**place)]) as [rota]:
        yield rota


@pytest.fixture
def unharmed(tried):
    """It is shown bad input. Afterwards it still answers, and has stored nothing."""
    before = stored(tried.api)
    yield tried
    assert tried.api.get("/healthz").status == 200
    assert stored(tried.api) == before


@pytest.fixture
def idle_rota(place):
    """A server that is not started yet, for tests that decide how; whatever still runs at the end is stopped gracefully."""
    rota = Rota(**place)
    yield rota
    rota.close()


@pytest.fixture
def nodes(place):
    """Three servers that share one store."""
    with started([Rota(**place) for _ in range(3)]) as nodes:
        yield nodes


@pytest.fixture
def divided(place):
    """Three servers that share one store and the work: two take requests, the third runs jobs."""
    roles = ["api", "api", "puller,executor,completer"]
    with started([Rota(**place, options=["--role", role]) for role in roles]) as nodes:
        yield nodes


@pytest.fixture
def own_cluster(store):
    """A PostgreSQL for this test alone, which may do with it what it likes."""
    with new_cluster() as cluster:
        yield cluster


@pytest.fixture
def its_nodes(own_cluster):
    """Three servers on it. It must be there again at the end, so that they can stop gracefully."""
    with started([Rota(store=own_cluster.url()) for _ in range(3)]) as nodes:
        yield nodes
