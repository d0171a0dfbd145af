"""service-accounts and service-tokens over REST, and what a token of a program may do there."""

import dataclasses
import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from migrations_app.models.account import ApiToken
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster

NEW = {"name": "ci", "role": "operator", "everywhere": True, "scopes": ["read", "scan"], "purpose": "pipelines"}


def bearer(secret: str, path: str, *, address: str = "127.0.0.1", method: str = "GET", **headers: str) -> int:
    given = {"Authorization": f"Bearer {secret}", **headers}
    return Client(REMOTE_ADDR=address).generic(method, f"/api/v1/{path}", headers=given).status_code


def made(api: Tool, **more: object) -> tuple[str, str]:
    """The address of a service account, and a secret of it with its scopes."""
    said = api("POST", "service-accounts", NEW | more)
    assert said.status_code == 201, said.content
    token = api("POST", f"{said['Location']}/tokens", {"name": "x", "scopes": said.json()["scopes"], "days": 1})
    assert token.status_code == 201, token.content
    return said["Location"], token.json()["secret"]


def test_one_is_made_read_changed_and_ended(api: Tool) -> None:
    address, secret = made(api)
    shown = api("GET", address)
    assert (shown.json()["account"], shown.json()["role"], shown.json()["everywhere"]) == (
        "service:ci",
        "operator",
        True,
    )
    assert [row["name"] for row in api("GET", "service-accounts").json()["results"]] == ["ci"]
    group = ClusterGroup.objects.create(name="shop")
    changed = api("PATCH", address, {"groups": [str(group.pk)], "networks": ["127.0.0.1"]}, if_match=shown["ETag"])
    told = changed.json()
    assert (changed.status_code, told["everywhere"], told["group_names"], told["networks"], told["purpose"]) == (
        200, False, ["shop"], ["127.0.0.1/32"], "pipelines",
    )  # fmt: skip
    assert api("PATCH", address, {"purpose": ""}, if_match=shown["ETag"]).status_code == 412
    assert bearer(secret, "me") == 200
    assert api("DELETE", address, if_match=changed["ETag"]).status_code == 204
    assert (bearer(secret, "me"), api("GET", address).json()["ended_at"] is None) == (401, False)
    assert api("DELETE", address, if_match="*").status_code == 404
    verbs = list(AuditEvent.objects.filter(verb__startswith="service.").order_by("seq").values_list("verb", flat=True))
    assert verbs == ["service.made", "service.changed", "service.ended"]


def test_what_a_program_sees_is_its_groups_and_what_it_is_called(api: Tool) -> None:
    mine, other = a_cluster("mine"), a_cluster("other")
    group = ClusterGroup.objects.create(name="shop")
    group.clusters.add(mine)
    _, secret = made(api, everywhere=False, groups=[str(group.pk)])
    assert [bearer(secret, f"clusters/{row.pk}") for row in (mine, other)] == [200, 404]
    me = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (me["name"], me["method"], me["scopes"]) == ("service:ci", "token", ["read", "scan"])


@pytest.mark.parametrize("path", ["people", "grants", "service-accounts", "channels"])
def test_a_program_neither_appoints_nor_sets_limits(api: Tool, path: str) -> None:
    _, secret = made(api, role="admin", scopes=["read", "admin"])
    assert (bearer(secret, path), bearer(secret, "policies/default", method="PUT", **{"If-Match": "*"})) == (403, 403)


def test_a_program_issues_no_token_for_itself(api: Tool) -> None:
    _, secret = made(api, role="admin", scopes=["read", "admin"])
    body = {"name": "mine", "scopes": ["admin"], "days": 90}
    told = Client().post(
        "/api/v1/tokens", body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    assert (told.status_code, ApiToken.objects.filter(owner__service__name="ci").exists()) == (400, False)


def test_networks_are_judged_by_the_address_that_the_proxy_told(api: Tool, settings: Settings) -> None:
    _, secret = made(api, networks=["192.0.2.0/24"])
    forwarded = {"X-Forwarded-For": "192.0.2.7"}
    assert bearer(secret, "me", address="192.0.2.7") == 200
    assert bearer(secret, "me", address="10.0.0.9", **forwarded) == 401
    settings.ENV = dataclasses.replace(settings.ENV, behind_proxy=True)
    assert bearer(secret, "me", address="10.0.0.9", **forwarded) == 200
    assert bearer(secret, "me", address="10.0.0.9", **{"X-Forwarded-For": "192.0.2.7, 203.0.113.9"}) == 401
    # The address of the proxy itself proves nothing of the client.
    assert bearer(secret, "me", address="192.0.2.1") == 401


def test_a_replayed_answer_holds_no_secret(api: Tool) -> None:
    address, _ = made(api)
    body = {"name": "again", "scopes": ["read"], "days": None}
    first, second = (api("POST", f"{address}/tokens", body, idempotency_key="k") for _ in range(2))
    assert (first.json() | {"secret": ""}, second["Idempotency-Replayed"]) == (second.json(), "true")
    assert (first.json()["expires_at"], ServiceToken.objects.filter(name="again").count()) == (None, 1)
    assert first.json()["secret"] not in api("GET", f"{address}/tokens").content.decode()


def test_a_token_is_revoked(api: Tool) -> None:
    _, secret = made(api)
    row = ServiceToken.objects.get()
    address = f"service-tokens/{row.pk}"
    assert api("DELETE", address, if_match=api("GET", address)["ETag"]).status_code == 204
    assert (bearer(secret, "me"), api("DELETE", address, if_match="*").status_code) == (401, 404)


def test_no_token_makes_a_program_that_may_more_than_itself(ada: User, api: Tool) -> None:
    narrow = Tool(ada, "admin")
    assert narrow("POST", "service-accounts", NEW).status_code == 403
    address, _ = made(api)
    assert narrow("POST", f"{address}/tokens", {"name": "x", "scopes": ["read"], "days": 1}).status_code == 403
    assert narrow("PATCH", address, {"scopes": ["act"]}, if_match="*").status_code == 403
    assert (ServiceAccountRow.objects.count(), ApiToken.objects.filter(owner=ada).count()) == (1, 2)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"everywhere": False}, 400),
        ({"groups": [str(uuid.uuid4())], "everywhere": True}, 400),
        ({"groups": [str(uuid.uuid4())], "everywhere": False}, 404),
        ({"role": "approver"}, 400),
        ({"scopes": []}, 400),
        ({"networks": ["10.0.0.1/8"]}, 400),
        ({"name": "A b"}, 400),
        ({"owner": "ada"}, 400),
    ],
)
def test_what_is_none(api: Tool, body: dict[str, object], status: int) -> None:
    said = api("POST", "service-accounts", NEW | body)
    assert (said.status_code, ServiceAccountRow.objects.exists()) == (status, False), said.content


def test_those_who_may_not_appoint_see_none(ben: User, api: Tool) -> None:
    address, _ = made(api)
    assert [Tool(ben)("GET", path).status_code for path in ("service-accounts", address)] == [403, 403]
