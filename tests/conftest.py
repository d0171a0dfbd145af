"""What every test has: real servers on demand, and no way to any address but this machine's own.

A server starts when the first test asks for it, once in each worker process of the run, and ends with that process.
"""

import gc
import ipaddress
import os
import socketserver
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from karpdash.celery import app
from karpdash.configuration.cache import caches
from karpdash.processes.python_gc import collect_seldom
from tests.browser import slow_pages
from tests.servers import browser, on_postgres
from tests.servers.apiserver import ApiServer
from tests.servers.postgres import Postgres
from tests.servers.redis_server import RedisServer
from tests.session import in_flight, static_index
from tests.session.guards import let_tests_sweep
from tests.session.shared_sqlite import close_in_threads, serialise

# Two cores under load make single examples slow; that says nothing about the code.
settings.register_profile("karpdash", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# CI judges every commit by the same examples; new ones are looked for by `make test` and `make trust`.
settings.register_profile("karpdash-ci", settings.get_profile("karpdash"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "karpdash"))
# Neither do pages that take their time there; what is expected comes, or the test fails later.
expect.set_options(timeout=60_000)
collect_seldom()
serialise()
close_in_threads()
in_flight.watch()

FIXTURE_MARKERS = {"apiserver": "apiserver", "chromium": "browser", "postgres_url": "postgres", "redis_url": "redis"}
_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname"}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def refuse_other_machines(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: fails the test that looks up a name or sends to an address outside this machine."""
    if _is_loopback is None:  # Python is about to end and has cleared this module
        return
    if event in _SENDING:
        address = arguments[1]
        if isinstance(address, tuple) and not _is_loopback(str(address[0])):
            pytest.fail(f"{event} to {address}: tests talk to loopback only")
    elif event in _LOOKUPS and arguments[0] and not _is_harmless_name(arguments[0]):
        pytest.fail(f"{event} of {arguments[0]!r}: tests resolve no names of other machines")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_harmless_name(host: object) -> bool:
    text = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    try:
        ipaddress.ip_address(text.partition("%")[0])  # a number is not looked up anywhere
    except ValueError:
        return text == "localhost"
    return True


sys.addaudithook(refuse_other_machines)
let_tests_sweep()
static_index.share()
# Servers of the tests write head and body apart; the body would wait 40 ms for the client's word that it has the head.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True


def pytest_configure() -> None:
    """Refuses to take SQLite for PostgreSQL: on_postgres says which of them the run is meant for."""
    engine = django_settings.DATABASES["default"]["ENGINE"]
    wanted = os.environ.get(on_postgres.VARIABLE, "")
    if wanted not in engine:
        raise pytest.UsageError(f"{on_postgres.VARIABLE} is {wanted}, but the settings say {engine}")
    # The broker's Redis is not there unless a test starts one: who sends a message hears so at once, not after 4 s.
    django_settings.CACHES = caches("memory://")
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, "max_retries": 0}
    if os.environ.get(slow_pages.LATE):
        django_settings.MIDDLEWARE = ["tests.browser.slow_pages.slow_pages", *django_settings.MIDDLEWARE]


def pytest_report_header() -> str:
    """Names the database of this run."""
    return f"database: {django_settings.DATABASES['default']['ENGINE']}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks a test by the servers it uses. Under `--dist loadgroup` those of a module stay together if they use one, or
    share what is made once for the module: each worker would make it anew.
    """
    used = [name for name in FIXTURE_MARKERS if name in getattr(item, "fixturenames", ())]
    for name in used:
        item.add_marker(FIXTURE_MARKERS[name])
    if (used or _shares_in_module(item)) and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores, since many tests wait for processes they have started, and at most eight: each
    takes 0.9 GB, and up to 1.2 GB for an API server of its own.
    """
    return min((os.cpu_count() or 1) + 2, 8)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Refuses tests of the same id: workers would run one of them and count it as all.

    On PostgreSQL, tests that use no database are deselected. What takes long comes first, for no worker to be left
    with it in the end while the others have nothing to do.
    """
    twice = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if twice:
        raise pytest.UsageError(f"tests of the same id: {', '.join(twice)}")
    if on_postgres.VARIABLE in os.environ:
        config.hook.pytest_deselected(items=[item for item in items if not on_postgres.uses_database(item)])
        items[:] = filter(on_postgres.uses_database, items)
    yield
    items.sort(key=_turn)  # the order within each turn is that of pytest-randomly and pytest-django


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: millions of objects that no collection looks at again."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> int:
    """0 for groups of the API server, 1 for long tests and for groups of a broker, which start workers, 2 for other
    groups, 3 for the rest.
    """
    if item.get_closest_marker("apiserver"):
        return 0
    limit = item.get_closest_marker("timeout")
    is_long = limit is not None and limit.args[0] > float(str(item.config.getini("timeout")))
    if is_long or item.get_closest_marker("redis"):
        return 1
    return 2 if item.get_closest_marker("xdist_group") else 3


def _shares_in_module(item: pytest.Item) -> bool:
    known = getattr(item, "_fixtureinfo", None)
    return known is not None and any(found[-1].scope == "module" for found in known.name2fixturedefs.values() if found)


_shared_apiservers: list[ApiServer] = []


@pytest.fixture(scope="session")
def apiserver() -> Iterator[ApiServer]:
    """A real kube-apiserver, as earlier tests of this worker left it; most tests want `clean_apiserver`."""
    server = ApiServer()
    _shared_apiservers.append(server)
    yield server
    _shared_apiservers.remove(server)
    server.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The API server of this worker goes on."""
    if item.get_closest_marker("apiserver"):
        for server in _shared_apiservers:
            server.resume()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """The API server of this worker stands still while none of its tests comes next."""
    if nextitem is None or not nextitem.get_closest_marker("apiserver"):
        for server in _shared_apiservers:
            server.pause()


@pytest.fixture
def clean_apiserver(apiserver: ApiServer) -> ApiServer:
    """The same server, taken back to how it started: no CRDs, no objects, no rights for the users of the pool."""
    apiserver.wipe(leave_crds=True)
    return apiserver


@pytest.fixture
def live_server(live_server: LiveServer, transactional_db: None) -> Iterator[LiveServer]:
    """Django's server in a thread. It has answered every request before the tables of this test are emptied."""
    yield live_server
    in_flight.wait()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a real Redis."""
    server = RedisServer()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of an empty database on a real PostgreSQL."""
    server = Postgres()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def chromium() -> browser.Chromium:
    """The installed browser; its `launch` are the keyword arguments of Playwright's launch."""
    return browser.installed()


@pytest.fixture(scope="session")
def opened(chromium: browser.Chromium) -> Iterator[Browser]:
    """The one running browser of this worker process: Playwright allows no second one beside it."""
    # Playwright's loop lives in this thread, and Django takes any loop for a sign of asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(**chromium.launch)
        yield running
        running.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
