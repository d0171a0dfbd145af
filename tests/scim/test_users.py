"""People over SCIM: created, changed, closed when they left, opened when they came back, deleted."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from migrations_app.models.account import ApiToken, FeedLink, Grant, Identity
from migrations_app.models.audit import AuditEvent
from migrations_app.models.provisioning import ProvisionedAccount
from migrations_app.models.service import ServiceAccountRow
from migrations_app.use_cases.accounts import management, tokens
from tests.scim.conftest import CORE, PATCH, Directory

ACTIVE = {"op": "replace", "path": "active", "value": False}


def _grace(directory: Directory) -> str:
    return directory.person(
        "grace@work.example",
        externalId="00u1",
        name={"givenName": "Grace", "familyName": "Hopper"},
        emails=[{"value": "old@work.example", "type": "home"}, {"value": "grace@work.example", "primary": True}],
    )


def test_a_person_is_created_without_a_password_and_told_again(directory: Directory) -> None:
    key = _grace(directory)
    row = User.objects.get(pk=key)
    assert (row.username, row.email, row.has_usable_password(), row.is_active) == (
        "grace@work.example", "grace@work.example", False, True,
    )  # fmt: skip
    told = directory("GET", f"Users/{key}")
    body = told.json()
    place = f"http://testserver/scim/v2/Users/{key}"
    assert (told["Content-Type"], told["Location"], body["meta"]["location"]) == (
        "application/scim+json; charset=utf-8", place, place,
    )  # fmt: skip
    body.pop("meta")
    assert body == {
        "schemas": [f"{CORE}:User"],
        "id": key,
        "externalId": "00u1",
        "userName": "grace@work.example",
        "name": {"givenName": "Grace", "familyName": "Hopper"},
        "emails": [{"value": "grace@work.example", "type": "work", "primary": True}],
        "active": True,
    }
    event = AuditEvent.objects.get(verb="account.made")
    assert (event.actor, event.method) == ("scim:okta", "token")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('userName eq "GRACE@work.example"', ["grace@work.example"]),
        ('username EQ "nobody"', []),
        ('externalId eq "00u1"', ["grace@work.example"]),
        ('emails[type eq "work"].value eq "grace@work.example"', ["grace@work.example"]),
        (f'{CORE}:User:userName eq "ada"', ["ada"]),
        ('active eq true and userName eq "ada"', ["ada"]),
        ('id eq "not-a-number"', []),
        ("", ["ada", "grace@work.example"]),
    ],
)
def test_a_filter_finds_people_also_those_who_were_here_before(
    directory: Directory, text: str, found: list[str]
) -> None:
    _grace(directory)
    body = directory("GET", f"Users?filter={text.replace('[', '%5B').replace(' ', '%20')}").json()
    names = [one["userName"] for one in body["Resources"]]
    assert (names, body["totalResults"], body["itemsPerPage"], body["startIndex"]) == (found, len(found), len(found), 1)


@pytest.mark.parametrize(
    "text",
    ['userName sw "a"', "userName", 'userName eq "a" or id eq "1"', 'password eq "x"', 'userName eq "a', "x" * 3000,
     'userName eq "a" and', "userName eq 'a'", 'id eq "1"; drop table'],
)  # fmt: skip
def test_other_filters_are_refused_by_their_kind(directory: Directory, text: str) -> None:
    answer = directory("GET", "Users?" + "filter=" + text.replace(" ", "%20").replace(";", "%3B"))
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidFilter")


def test_lists_are_paged_and_attributes_chosen(directory: Directory) -> None:
    for number in range(3):
        directory.person(f"p{number}")
    body = directory("GET", "Users?startIndex=3&count=1&attributes=userName").json()
    assert [sorted(one) for one in body["Resources"]] == [["id", "schemas", "userName"]]
    assert (body["totalResults"], body["itemsPerPage"], body["startIndex"]) == (4, 1, 3)
    assert body["Resources"][0]["userName"] == "p1"
    assert directory("GET", "Users?count=0").json()["Resources"] == []
    assert directory("GET", "Users?count=many").status_code == 400


def test_who_left_is_closed_with_everything(directory: Directory) -> None:  # T28
    key = _grace(directory)
    row = User.objects.get(pk=key)
    secret = tokens.issue(row, name="ci", scopes=["read"], days=1).secret
    FeedLink.objects.create(owner=row, name="x", kind="news", prefix="kd_x", digest="1" * 64)
    client = Client()
    client.force_login(row, backend="django.contrib.auth.backends.ModelBackend")
    given = {"Authorization": f"Bearer {secret}"}
    assert (client.get("/").status_code, Client().get("/api/v1/me", headers=given).status_code) == (200, 200)
    answer = directory.patch(f"Users/{key}", ACTIVE)
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    assert (client.get("/").status_code, Client().get("/api/v1/me", headers=given).status_code) == (302, 401)
    assert (ApiToken.objects.filter(revoked_at=None).count(), FeedLink.objects.filter(revoked_at=None).count()) == (
        0,
        0,
    )
    assert directory.patch(f"Users/{key}", ACTIVE | {"value": True}).json()["active"] is True
    assert Client().get("/api/v1/me", headers=given).status_code == 401
    events = AuditEvent.objects.filter(verb__in=("account.closed", "account.opened")).order_by("seq")
    verbs = list(events.values_list("verb", "object"))
    assert verbs == [("account.closed", "grace@work.example"), ("account.opened", "grace@work.example")]


def test_the_last_admin_stays(directory: Directory, ada: User) -> None:
    answer = directory.patch(f"Users/{ada.pk}", ACTIVE)
    said = answer.json()
    assert (answer.status_code, said["status"], said["schemas"]) == (
        409, "409", ["urn:ietf:params:scim:api:messages:2.0:Error"],
    )  # fmt: skip
    assert "no account would be left" in said["detail"]
    assert directory("DELETE", f"Users/{ada.pk}").status_code == 409
    ada.refresh_from_db()
    assert (ada.is_active, ProvisionedAccount.objects.count()) == (True, 0)
    User.objects.create_superuser("eve")
    assert directory.patch(f"Users/{ada.pk}", ACTIVE).status_code == 200


def test_a_directory_opens_nothing_that_was_closed_here(directory: Directory) -> None:
    key = _grace(directory)
    management.set_active("grace@work.example", active=False, person=None)
    answer = directory.patch(f"Users/{key}", ACTIVE | {"value": True})
    assert (answer.status_code, "closed in karpdash" in answer.json()["detail"]) == (409, True)
    directory.patch(f"Users/{key}", ACTIVE)
    assert directory.patch(f"Users/{key}", ACTIVE | {"value": True}).status_code == 409
    management.set_active("grace@work.example", active=True, person=None)
    directory.patch(f"Users/{key}", ACTIVE)
    assert directory.patch(f"Users/{key}", ACTIVE | {"value": True}).status_code == 200


def test_a_change_that_is_refused_changes_nothing(directory: Directory, ada: User) -> None:
    answer = directory.patch(f"Users/{ada.pk}", {"op": "replace", "value": {"displayName": "Ada L.", "active": False}})
    assert (answer.status_code, ProvisionedAccount.objects.count()) == (409, 0)
    answer = directory.patch(
        f"Users/{ada.pk}", {"op": "replace", "path": "displayName", "value": "Ada"}, ACTIVE | {"value": "perhaps"}
    )
    assert (answer.status_code, answer.json()["scimType"], ProvisionedAccount.objects.count()) == (
        400,
        "invalidValue",
        0,
    )


def test_a_deleted_person_is_closed_and_gone_and_comes_back_with_nothing(directory: Directory) -> None:
    key = _grace(directory)
    row = User.objects.get(pk=key)
    row.groups.add(Group.objects.create(name="night"))
    Grant.objects.create(person=row, role="operator")
    Identity.objects.create(user=row, issuer="https://id.example", subject="u-1")
    assert directory("DELETE", f"Users/{key}").status_code == 204
    row.refresh_from_db()
    assert (row.is_active, row.groups.count(), row.grants.count(), Identity.objects.count()) == (False, 0, 0, 0)
    for method in ("GET", "DELETE"):
        assert directory(method, f"Users/{key}").status_code == 404
    assert directory("GET", 'Users?filter=userName%20eq%20"grace@work.example"').json()["totalResults"] == 0
    again = directory("POST", "Users", {"userName": "Grace@work.example", "active": True})
    assert (again.status_code, again.json()["id"]) == (201, key)
    row.refresh_from_db()
    assert (row.is_active, row.has_usable_password()) == (True, False)


def test_a_name_is_given_once_in_whatever_case(directory: Directory) -> None:
    _grace(directory)
    for name in ("GRACE@work.example", "ADA"):
        answer = directory("POST", "Users", {"userName": name})
        assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    for name in ("service:x", "scim:okta", "", " ada2", "a\u0000b", "x" * 151):
        assert directory("POST", "Users", {"userName": name}).status_code == 400 or name == " ada2"


def test_another_name_in_the_directory_leaves_the_account_its_own(directory: Directory) -> None:
    key = _grace(directory)
    answer = directory.patch(f"Users/{key}", {"op": "Replace", "path": "userName", "value": "g.murray@work.example"})
    assert answer.json()["userName"] == "g.murray@work.example"
    assert User.objects.get(pk=key).username == "grace@work.example"
    assert directory("GET", 'Users?filter=userName%20eq%20"g.murray@work.example"').json()["totalResults"] == 1
    taken = directory.patch(f"Users/{key}", {"op": "Replace", "path": "userName", "value": "ada"})
    assert taken.json()["scimType"] == "uniqueness"


def test_a_put_replaces_what_was_told_and_closes(directory: Directory) -> None:
    key = _grace(directory)
    answer = directory("PUT", f"Users/{key}", {"id": key, "userName": "grace@work.example", "active": False})
    body: dict[str, Any] = answer.json()
    body.pop("meta")
    assert body == {"schemas": [f"{CORE}:User"], "id": key, "userName": "grace@work.example", "active": False}


def test_programs_and_sample_people_do_not_exist_here(directory: Directory) -> None:
    program = User.objects.create_user("service:x")
    ServiceAccountRow.objects.create(user=program, name="x", scopes=["read"])
    sample = User.objects.create_user("sample-operator")
    for row in (program, sample):
        assert directory.patch(f"Users/{row.pk}", ACTIVE).status_code == 404
    assert [one["userName"] for one in directory("GET", "Users").json()["Resources"]] == ["ada"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "invalidSyntax"),
        (b"[]", "invalidSyntax"),
        ({"schemas": [PATCH]}, "invalidSyntax"),
        ({"schemas": [PATCH], "Operations": []}, "invalidSyntax"),
        ({"schemas": ["x"], "Operations": [ACTIVE]}, "invalidSyntax"),
        ({"Operations": [{"op": "copy", "path": "active"}]}, "invalidSyntax"),
        ({"Operations": [{"op": "remove"}]}, "noTarget"),
        ({"Operations": [{"op": "remove", "path": "userName"}]}, "invalidValue"),
        ({"Operations": [{"op": "replace", "path": "id", "value": "7"}]}, "mutability"),
        ({"Operations": [{"op": "replace", "path": "a b", "value": "7"}]}, "invalidPath"),
        ({"Operations": [{"op": "replace", "path": "userName", "value": 7}]}, "invalidValue"),
        ({"Operations": [{"op": "replace", "path": "emails", "value": "x"}]}, "invalidValue"),
        ({"Operations": [{"op": "replace", "path": 'emails[type eq "work"].value', "value": "no"}]}, "invalidValue"),
        ({"Operations": [{"op": "replace", "value": "x"}]}, "invalidValue"),
        ({"Operations": [{"op": "replace", "path": "active"}]}, "invalidValue"),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused_by_its_kind(directory: Directory, body: Any, kind: str) -> None:
    key = _grace(directory)
    answer = directory("PATCH", f"Users/{key}", body)
    assert (answer.status_code, answer.json()["scimType"]) == (400, kind)
    assert User.objects.get(pk=key).is_active


def test_a_body_has_a_limit(directory: Directory) -> None:
    answer = directory("POST", "Users", {"userName": "x", "title": "x" * 1_100_000})
    assert (answer.status_code, User.objects.filter(username="x").count()) == (413, 0)


def test_an_approval_that_was_not_used_no_longer_counts(directory: Directory) -> None:
    from migrations_app.access import approval_still_valid
    from migrations_app.queries.visibility import rights_over
    from tests.builders.rows import a_cluster

    key, cluster = _grace(directory), a_cluster()
    row = User.objects.get(pk=key)
    Grant.objects.create(person=row, role="approver")
    assert approval_still_valid(rights_over(User.objects.get(pk=key), cluster.pk), alone=False)
    directory.patch(f"Users/{key}", ACTIVE)
    assert not approval_still_valid(rights_over(User.objects.get(pk=key), cluster.pk), alone=False)
