"""Hostile input at /scim/v2: every answer is a refusal of the client's fault, none a fault of karpdash."""

from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from django.contrib.auth.models import Group, User

from migrations_app.models.account import Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.accounts import management
from tests.scim.conftest import Directory

NAMES = ("userName", "externalId", "displayName", "emails", "name.familyName", "id", "active")
DEEP = b'{"a":' * 200_000


@pytest.mark.parametrize("literal", [r'"\ud800"', r'"\u0000"', r'"\x"', '"' + "9" * 1900 + '"', "9" * 1900, "-1"])
def test_odd_values_of_a_filter_find_nobody_or_are_refused(directory: Directory, literal: str) -> None:
    for name in NAMES:
        text = quote(f"{name} eq {literal}")
        answer = directory("GET", f"Users?filter={text}")
        found = [one["userName"] for one in answer.json().get("Resources", [])]
        assert (name, answer.status_code, found) in ((name, 200, []), (name, 400, []))


def test_what_no_database_takes_is_refused_and_not_asked(directory: Directory) -> None:
    for literal in (r'"\ud800"', r'"a\u0000"'):
        text = quote(f"userName eq {literal}")
        answer = directory("GET", f"Users?filter={text}")
        assert (literal, answer.status_code, answer.json().get("scimType")) == (literal, 400, "invalidFilter")


@pytest.mark.parametrize(
    "body",
    [
        DEEP, b"[" * 200_000, b"\xff\xfe", b'{"userName": NaN}', b'{"userName": "a", "userName": "b"',
        rb'{"userName": "\ud800"}', b'{"userName": {"a": 1}}', b'{"userName": ["a"]}', b"null", b'"x"', b"{}",
        b'{"userName": 1e999999}', b'{"userName": ' + b"9" * 100_000 + b"}",
        rb'{"userName": "a\u0000b"}', rb'{"userName": "a\u202eb"}', rb'{"userName": "a", "externalId": "\u0000"}',
        rb'{"userName": "a", "emails": [{"value": {"x": 1}}]}',
        rb'{"userName": "a", "emails": [{"value": "a@b.example\r\nBcc: x"}]}',
        b'{"userName": "a", "name": []}', b'{"userName": "sample-operator"}', b'{"userName": "Sample-Approver"}',
        b'{"userName": "a", "active": 1}', b'{"userName": "a", "active": []}',
    ],
)  # fmt: skip
def test_odd_bodies_are_refused_and_make_nobody(directory: Directory, body: bytes) -> None:
    answer = directory("POST", "Users", body)
    assert (answer.status_code, User.objects.count()) == (400, 1), answer.content[:300]


@pytest.mark.parametrize(
    "path", ["Users/" + "9" * 30, "Groups/" + "9" * 30, "Users/" + "9" * 5000, "Users/-1", "Users/%00", "Schemas/%00"]
)
def test_odd_addresses_are_not_there(directory: Directory, path: str) -> None:
    assert directory("GET", path).status_code == 404
    body = {"userName": "x", "displayName": "x"}
    assert [directory(*way).status_code in (404, 405) for way in (("PUT", path, body), ("DELETE", path))] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"displayName": "a\u0000b"}, {"displayName": "x" * 151}, {"displayName": " "}, {"displayName": 7},
        {"displayName": "a", "externalId": "x" * 256}, {"displayName": "a", "members": "x"},
        {"displayName": "a", "members": [7]}, {"displayName": "a", "members": [{"value": 7}]},
        {"displayName": "a", "members": [{"value": "7", "type": "Group"}]},
        {"displayName": "a", "members": [{"value": "9" * 15}]},
        {"displayName": "a", "members": [{"value": str(key)} for key in range(5000, 25_000)]},
        rb'{"displayName": "\ud800"}',
    ],
)  # fmt: skip
def test_odd_groups_are_refused_and_make_no_team(directory: Directory, body: Any) -> None:
    answer = directory("POST", "Groups", body)
    assert (answer.status_code, Group.objects.count()) == (400, 0), answer.content[:300]


def test_a_filter_of_contradictions_finds_nobody(directory: Directory) -> None:
    directory.person("ben")
    for other, found in (("ben", 0), ("ADA", 1)):
        text = quote(f'userName eq "ada" and userName eq "{other}"')
        assert (other, directory("GET", f"Users?filter={text}").json()["totalResults"]) == (other, found)


def test_a_filter_has_few_parts(directory: Directory) -> None:
    key = directory.person("ben")
    directory.team("night", key)
    for number, status in ((10, 200), (11, 400), (100, 400)):
        text = quote(" and ".join([f'members eq "{key}"'] * number))
        answer = directory("GET", f"Groups?filter={text}")
        told = answer.json().get("totalResults", answer.json().get("scimType"))
        assert (number, answer.status_code, told) == (number, status, 1 if status == 200 else "invalidFilter")


def test_pages_out_of_the_world(directory: Directory) -> None:
    for query in ("startIndex=999999999&count=500", "startIndex=-5&count=-5", "count=999999999"):
        assert directory("GET", f"Users?{query}").status_code == 200
    for query in ("startIndex=9999999999", "count=%D9%A1", "count=1e3"):
        assert directory("GET", f"Users?{query}").status_code == 400


def test_a_superuser_who_was_deleted_comes_back_with_nothing(directory: Directory) -> None:
    eve = User.objects.create_superuser("eve")
    assert directory("DELETE", f"Users/{eve.pk}").status_code == 204
    eve.refresh_from_db()
    assert (eve.is_superuser, eve.is_staff) == (False, False)
    Grant.objects.create(person=eve, role="admin")  # to an account that is closed, by mistake
    directory.person("eve")
    eve.refresh_from_db()
    assert (eve.is_active, eve.is_superuser, Grant.objects.count()) == (True, False, 0)


def test_who_was_deleted_there_and_opened_here_is_not_taken_over(directory: Directory) -> None:
    eve = User.objects.create_user("eve", password="correct horse battery staple")
    directory("DELETE", f"Users/{eve.pk}")
    management.set_active("eve", active=True, person=None)
    Grant.objects.create(person=eve, role="admin")
    answer = directory("POST", "Users", {"userName": "eve", "active": True})
    eve.refresh_from_db()
    told = (answer.status_code, answer.json()["scimType"], eve.has_usable_password(), Grant.objects.count())
    assert told == (409, "uniqueness", True, 1)


def test_a_team_that_was_here_is_the_directorys_only_with_a_word_in_the_log(directory: Directory) -> None:
    key, admins = directory.person("mallory"), Group.objects.create(name="admins")
    Grant.objects.create(team=admins, role="admin")
    directory.patch(f"Groups/{admins.pk}", {"op": "add", "path": "members", "value": [{"value": key}]})
    event = AuditEvent.objects.get(verb="team.members")
    told = msgspec.json.decode(event.detail)
    assert (event.actor, event.object, told["joined"], told["roles"]) == ("scim:okta", "admins", ["mallory"], ["admin"])
    assert AuditEvent.objects.filter(verb="team.of_directory", object="admins").count() == 1


def test_details_that_change_are_written_down_without_their_text(directory: Directory) -> None:
    key = directory.person("grace", displayName="Grace")
    directory.patch(f"Users/{key}", {"op": "replace", "value": {"displayName": "G.", "name.givenName": "Canary"}})
    event = AuditEvent.objects.filter(verb="account.details").latest("seq")
    assert msgspec.json.decode(event.detail)["changed"] == ["display", "given"]
    assert ("Canary" in event.detail, User.objects.get(pk=key).first_name) == (False, "Canary")


def test_another_address_than_that_for_work_is_passed_over(directory: Directory) -> None:
    key = directory.person("grace", emails=[{"value": "grace@work.example", "type": "work"}])
    path = 'emails[type eq "home"].value'
    answer = directory.patch(
        f"Users/{key}", {"op": "add", "path": path, "value": "g@home.example"}, {"op": "remove", "path": path}
    )
    assert [one["value"] for one in answer.json()["emails"]] == ["grace@work.example"]


def test_the_last_admin_is_counted_behind_the_lock_of_the_audit_log(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two requests at the same time would each see the other's admin otherwise."""
    key = directory.person("grace")
    team = directory.team("night", key)
    seen: list[str] = []
    monkeypatch.setattr(management, "refuse_without_admin", lambda: seen.append(AuditEvent.objects.latest("seq").verb))
    directory.patch(f"Users/{key}", {"op": "replace", "path": "active", "value": False})
    directory.patch(f"Groups/{team}", {"op": "remove", "path": "members"})
    directory("DELETE", f"Users/{key}")
    directory("DELETE", f"Groups/{team}")
    assert seen == ["account.closed", "team.members", "account.deprovisioned", "team.removed"]
