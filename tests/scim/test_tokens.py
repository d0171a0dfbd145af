"""The token of a directory opens /scim/v2 and nothing else, and nothing else opens that (T13)."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from migrations_app.access import RIGHTS, Person
from migrations_app.api.scim.endpoint import ScimEndpoint
from migrations_app.api.scim.urls import urlpatterns
from migrations_app.errors import PermissionDenied
from migrations_app.models.account import Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.provisioning import ProvisioningToken
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.directory_tokens import issue_provisioning_token, revoke_provisioning_token
from tests.scim.conftest import Directory

PATHS = ("Users", "Users/1", "Groups", "Groups/1", "ServiceProviderConfig", "ResourceTypes", "ResourceTypes/User",
         "Schemas", "Schemas/x", "", "Me", "Bulk", "Users/.search", "nowhere")  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PAGE = "/settings/provisioning"


def _in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_every_address_is_one_of_the_frame() -> None:
    views = [getattr(one.callback, "cls", None) for one in urlpatterns]
    assert [view.__name__ for view in views if not issubclass(view, ScimEndpoint)] == []
    assert len({str(one.pattern) for one in urlpatterns}) == len(urlpatterns) == 10


@pytest.mark.parametrize("method", METHODS)
def test_nobody_else_gets_in(directory: Directory, ada: User, method: str) -> None:
    secret = tokens.issue(ada, name="all", scopes=tokens.SCOPES, days=1).secret
    clients = {"anonymous": (Client(), {}), "session": (_in(ada), {})}
    clients["token"] = (Client(), {"Authorization": f"Bearer {secret}"})
    clients["basic"] = (Client(), {"Authorization": f"Basic {directory.secret}"})
    clients["unknown"] = (Client(), {"Authorization": "Bearer kd_nobody"})
    for path in PATHS:
        for who, (client, headers) in clients.items():
            answer = client.generic(method, f"/scim/v2/{path}", b"{}", "application/scim+json", headers=headers)
            assert (path, who, answer.status_code, answer["WWW-Authenticate"]) == (
                path, who, 401, 'Bearer realm="karpdash-scim"',
            )  # fmt: skip


def test_it_opens_nothing_else(directory: Directory) -> None:
    given = {"Authorization": f"Bearer {directory.secret}"}
    assert directory("GET", "Users").status_code == 200
    paths = ("/api/v1/", "/api/v1/me", "/api/v1/people", "/api/v1/provisioning-tokens", "/api/v1/schema/", "/metrics")
    assert {path: Client().get(path, headers=given).status_code for path in paths} == dict.fromkeys(paths, 401)
    assert Client().get("/settings/people", headers=given).status_code == 302


def test_it_ends_by_time_and_by_hand(directory: Directory) -> None:
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert directory("GET", "Users").status_code == 401
    assert directory("GET", "Users").status_code == 200
    revoke_provisioning_token(ProvisioningToken.objects.get().pk, person=None)
    assert directory("GET", "Users").status_code == 401


def test_an_admin_makes_it_on_the_page_sees_it_once_and_revokes_it(ada: User) -> None:
    client = _in(ada)
    made = client.post(PAGE, {"name": "entra", "days": "200"})
    (secret,) = re.findall(r"kd_[\w-]{43}", made.content.decode())
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/scim/v2/Users", headers=headers).status_code == 200
    again = client.get(PAGE).content.decode()
    assert (secret in again, "entra" in again, "http://testserver/scim/v2" in again) == (False, True, True)
    event = AuditEvent.objects.get(verb="provisioning_token.made")
    assert (event.actor, event.object, secret in event.detail) == ("ada", "entra", False)
    key = ProvisioningToken.objects.get().pk
    assert client.post(reverse("provisioning-token-revoke", args=[key])).status_code == 302
    assert Client().get("/scim/v2/Users", headers=headers).status_code == 401
    assert AuditEvent.objects.filter(verb="provisioning_token.revoked", actor="ada").count() == 1
    for wrong in ({"name": "", "days": "5"}, {"name": "x", "days": "366"}, {"name": "x", "days": "x"}):
        assert client.post(PAGE, wrong).status_code == 400


def test_only_who_may_appoint_and_never_by_a_token(ada: User) -> None:
    ben = User.objects.create_user("ben")
    Grant.objects.create(person=ben, role="operator")
    assert _in(ben).post(PAGE, {"name": "x", "days": "5"}).status_code == 403
    with pytest.raises(PermissionDenied, match="in the browser"):
        issue_provisioning_token("x", days=5, person=Person(id=ada.pk, name="ada", rights=RIGHTS, method="token"))
    assert ProvisioningToken.objects.count() == 0


def test_rest_lists_and_revokes_without_the_secret(directory: Directory, ada: User) -> None:
    headers = {"Authorization": f"Bearer {tokens.issue(ada, name='x', scopes=['admin'], days=1).secret}"}
    (row,) = Client().get("/api/v1/provisioning-tokens", headers=headers).json()["results"]
    assert (row["name"], row["prefix"], "secret" in row, "digest" in row) == (
        "okta",
        directory.secret[:9],
        False,
        False,
    )
    place = f"/api/v1/provisioning-tokens/{row['id']}"
    tag = Client().get(place, headers=headers)["ETag"]
    assert Client().delete(place, headers=headers).status_code == 428
    assert Client().delete(place, headers=headers | {"If-Match": tag}).status_code == 204
    assert directory("GET", "Users").status_code == 401


def test_what_is_not_there_and_what_is_not_supported(directory: Directory) -> None:
    answers = {path: directory("GET", path).status_code for path in ("nowhere", "Me", "Bulk", "Schemas/x", "Users/99")}
    assert answers == {"nowhere": 404, "Me": 501, "Bulk": 501, "Schemas/x": 404, "Users/99": 404}
    assert directory("POST", "Users/.search", {"count": 1}).status_code == 501
    assert directory("PUT", "Users", {"userName": "x"}).status_code == 405
