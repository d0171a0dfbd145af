"""Tokens and sessions, and what each may not do (T09, T13, T28)."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.api.urls import urlpatterns
from migrations_app.models.account import ApiToken, TemporaryPassword
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from tests.api.conftest import Tool


@pytest.fixture
def blue(db: None) -> Cluster:
    return Cluster.objects.create(name="blue", source="sample", context="beta_037")


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    return client


def csrf(browser: Client) -> dict[str, str]:
    secret = "a" * 32
    browser.cookies["csrftoken"] = secret
    return {"X-CSRFToken": secret}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "not_signed_in"),
        ({"Authorization": "Bearer"}, "bad_token"),
        ({"Authorization": "Bearer kd_wrong"}, "bad_token"),
        ({"Authorization": "Bearer \xff\x00"}, "bad_token"),
        ({"Authorization": "Basic YTpi"}, "bad_token"),
    ],
)
def test_strangers(client: Client, given: dict[str, str], code: str) -> None:
    said = client.get("/api/v1/checks", headers=given)
    assert (said.status_code, said.json()["code"], said["WWW-Authenticate"]) == (401, code, 'Bearer realm="karpdash"')


def test_a_session_reads(browser: Client) -> None:
    assert browser.get("/api/v1/checks").status_code == 200


def test_a_session_changes_with_its_csrf_token_only(browser: Client, blue: Cluster) -> None:
    path = f"/api/v1/clusters/{blue.pk}/scans"
    refused = browser.post(path, content_type="application/json", data={})
    assert (refused.status_code, refused.json()["code"], Scan.objects.count()) == (403, "csrf", 0)
    assert browser.post(path, content_type="application/json", data={}, headers=csrf(browser)).status_code == 202


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_changes_nothing_even_with_the_token(browser: Client, blue: Cluster, site: str) -> None:
    headers = csrf(browser) | {"Sec-Fetch-Site": site}
    said = browser.delete(f"/api/v1/clusters/{blue.pk}", headers=headers | {"If-Match": "*"})
    assert (said.json()["code"], Cluster.objects.count()) == ("csrf", 1)


def test_a_bad_token_is_not_rescued_by_a_cookie(browser: Client) -> None:
    assert browser.get("/api/v1/checks", headers={"Authorization": "Bearer no"}).status_code == 401


def test_a_one_time_password_opens_nothing(browser: Client, ada: User) -> None:
    TemporaryPassword.objects.create(user=ada)
    said = browser.get("/api/v1/checks")
    assert (said.status_code, said.json()["code"]) == (403, "password_change_needed")


ROUTES = [
    (method.upper(), str(route.pattern).replace("<uuid:id>", str(uuid.UUID(int=7))).replace("<slug:id>", "a"))
    for route in urlpatterns
    for method in ("get", "head", "post", "patch", "delete")
    if hasattr(route.callback.view_class, method)
    and "docs" not in str(route.pattern)
    and "rest" not in str(route.pattern)
]


@pytest.mark.django_db
@pytest.mark.one_database
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_knows_a_stranger(client: Client, method: str, path: str) -> None:
    assert client.generic(method, f"/api/v1/{path}").status_code == 401


@pytest.mark.one_database
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_opens_without_a_scope(ada: User, method: str, path: str) -> None:
    tool = Tool(ada)
    ApiToken.objects.update(scopes=[])
    assert tool(method, path).status_code == 403


@pytest.mark.parametrize(
    ("scopes", "method", "path", "missing"),
    [
        (("scan", "admin"), "GET", "clusters", "read"),
        (("read", "admin"), "POST", "clusters/{}/scans", "scan"),
        (("read", "scan"), "PATCH", "clusters/{}", "admin"),
        (("read", "scan"), "DELETE", "clusters/{}", "admin"),
        (("read", "scan"), "POST", "clusters", "admin"),
        (("read", "scan"), "POST", "tokens", "admin"),
    ],
)
def test_a_missing_scope_is_named(
    ada: User, blue: Cluster, scopes: tuple[str, ...], method: str, path: str, missing: str
) -> None:
    said = Tool(ada, *scopes)(method, path.format(blue.pk), {})
    assert (said.status_code, said.json()["detail"]) == (403, f"the token lacks the scope {missing}")


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        ("POST", "clusters", "add_cluster"),
        ("PATCH", "clusters/{}", "change_cluster"),
        ("DELETE", "clusters/{}", "delete_cluster"),
        ("POST", "clusters/{}/scans", "add_scan"),
    ],
)
def test_a_token_gives_nobody_a_right_they_lack(ben: User, blue: Cluster, method: str, path: str, right: str) -> None:
    said = Tool(ben)(method, path.format(blue.pk), {})
    assert (said.status_code, said.json()["detail"]) == (403, f"the account lacks the permission {right}")
    assert (Cluster.objects.count(), Scan.objects.count()) == (1, 0)


def test_cleo_may_scan_and_nothing_else(cleo: User, blue: Cluster) -> None:
    tool = Tool(cleo)
    assert tool("POST", f"clusters/{blue.pk}/scans").status_code == 202
    assert tool("DELETE", f"clusters/{blue.pk}", if_match="*").status_code == 403
