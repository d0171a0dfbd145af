"""Each route, each method, each role, by object: the table is the wish, and a route without a row fails the build."""

import copy
import dataclasses
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from karpdash.urls import urlpatterns as root
from migrations_app.api.urls import urlpatterns as api
from migrations_app.use_cases.accounts.tokens import SCOPES
from migrations_app.web.urls import urlpatterns as web
from tests.access.gate import address_of, codes_by_role, request_code
from tests.access.pages import PAGES
from tests.access.routes import ROUTES
from tests.access.stage import Stage, set_up, token_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quick(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture(scope="module")
def first_stage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """Made once for the module; what a test changes is rolled back with the test."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield set_up()
        transaction.set_rollback(True)


@pytest.fixture
def stage(first_stage: Stage) -> Stage:
    """With clients that nobody has used yet: an answer may take a cookie away."""
    clients = {role: Client() for role in first_stage.clients}
    for role, client in clients.items():
        client.cookies = copy.deepcopy(first_stage.clients[role].cookies)
    return dataclasses.replace(first_stage, clients=clients)


def test_every_page_has_its_rows() -> None:
    assert set(PAGES) == {(str(route.name), method) for route in web for method in ("GET", "POST")}


def test_every_route_of_the_api_has_its_rows() -> None:
    # A route answers alike with a slash at its end: it is the same view. What is none of them has a test of its own.
    named = [route for route in api if not str(route.name).endswith("-slash") and route.name != "api-nothing"]
    assert set(ROUTES) == {(str(route.name), method) for route in named for method in route.callback.cls.needs}
    slashes = {route.name: route.callback.cls for route in api if str(route.name).endswith("-slash")}
    assert slashes == {f"{r.name}-slash": r.callback.cls for r in named if f"{r.name}-slash" in slashes}


def test_what_is_mounted_beside_them() -> None:
    assert [str(route.pattern) for route in root] == ["healthz", "readyz", "metrics", "api/v1/", "scim/v2/", ""]
    assert [request_code(Client(), "GET", path) for path in ("/healthz", "/metrics")] == ["+", "1"]


@pytest.mark.parametrize("name", sorted({name for name, _ in PAGES}))
def test_pages(name: str, stage: Stage) -> None:
    for method in ("GET", "POST"):
        row = PAGES[name, method]
        if row.foreign:
            foreign = address_of(stage, name, kind=row.kind, subject="foreign")
            assert (method, codes_by_role(stage, method, foreign)) == (method, row.foreign)
        assert (method, codes_by_role(stage, method, address_of(stage, name, kind=row.kind))) == (method, row.own)


@pytest.mark.parametrize(("name", "method"), sorted(ROUTES))
def test_routes(name: str, method: str, stage: Stage) -> None:
    row = ROUTES[name, method]
    if row.foreign:
        assert codes_by_role(stage, method, address_of(stage, name, kind=row.kind, subject="foreign")) == row.foreign
    assert codes_by_role(stage, method, address_of(stage, name, kind=row.kind)) == row.own


@pytest.mark.parametrize(("name", "method"), sorted(set(ROUTES) - {("api-docs", "GET")}))
def test_tokens(name: str, method: str, stage: Stage) -> None:
    row = ROUTES[name, method]
    address = address_of(stage, name, kind=row.kind)
    for scope in SCOPES:
        if scope != row.scope:
            header = token_of(stage.users["chief"], scope)
            assert (scope, request_code(Client(), method, address, HTTP_AUTHORIZATION=header)) == (scope, "3")
    if row.foreign:
        foreign = address_of(stage, name, kind=row.kind, subject="foreign")
        header = token_of(stage.users["admin"], row.scope)
        assert request_code(Client(), method, foreign, HTTP_AUTHORIZATION=header) == row.foreign[5]
    # No more than whoever made it has now, and no less.
    for place, role in ((2, "viewer"), (6, "chief")):
        header = token_of(stage.users[role], row.scope)
        assert (role, request_code(Client(), method, address, HTTP_AUTHORIZATION=header)) == (role, row.own[place])


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_addresses_that_are_none_tell_strangers_nothing(method: str, stage: Stage) -> None:
    assert codes_by_role(stage, method, "/api/v1/nowhere") == "1444444"


def test_lists_hold_what_is_seen_and_no_more(stage: Stage) -> None:
    for path in ("/", "/rollouts/", "/waivers/", "/api/v1/clusters", "/api/v1/snapshots", "/api/v1/findings",
                 "/api/v1/rollouts", "/api/v1/waivers", "/api/v1/groups"):  # fmt: skip
        bodies = {role: stage.clients[role].get(path).content.decode() for role in ("nobody", "viewer", "chief")}
        seen = {role: ("own" in _names(body), "foreign" in _names(body)) for role, body in bodies.items()}
        assert (path, seen) == (path, {"nobody": (False, False), "viewer": (True, False), "chief": (True, True)})


def _names(body: str) -> set[str]:
    """Words of the answer that stand alone between quotes or tags."""
    return {word for word in ("own", "foreign") if f'"{word}"' in body or f">{word}<" in body}
