"""The same requests as Okta and Entra ID write them, from their documentation."""

from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import Group, User

from tests.scim.conftest import CORE, PATCH, Directory

ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
OKTA_USER: dict[str, Any] = {
    "schemas": [f"{CORE}:User"],
    "userName": "grace@work.example",
    "name": {"givenName": "Grace", "familyName": "Hopper"},
    "emails": [{"primary": True, "value": "grace@work.example", "type": "work"}],
    "displayName": "Grace Hopper",
    "locale": "en-US",
    "externalId": "00ujl29u0le5T6Aj10h7",
    "groups": [],
    "password": "1mz050nq",
    "active": True,
}
ENTRA_USER: dict[str, Any] = {
    "schemas": [f"{CORE}:User", ENTERPRISE],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    "userName": "grace@work.example",
    "active": True,
    "addresses": None,
    "displayName": "Grace Hopper",
    "emails": [{"type": "work", "value": "grace@work.example", "primary": True}],
    "meta": {"resourceType": "User"},
    "name": {"formatted": "Grace Hopper", "familyName": "Hopper", "givenName": "Grace"},
    "roles": [],
    ENTERPRISE: {"department": "Navy"},
}


@pytest.mark.parametrize("body", [OKTA_USER, ENTRA_USER], ids=["okta", "entra"])
def test_a_user_is_created(directory: Directory, body: dict[str, Any]) -> None:
    made = directory("POST", "Users", body)
    assert made.status_code == 201
    told = {name: made.json()[name] for name in ("userName", "externalId", "displayName", "emails", "active")}
    assert told == {name: body[name] for name in told} | {
        "emails": [{"value": "grace@work.example", "type": "work", "primary": True}]
    }
    row = User.objects.get(pk=made.json()["id"])
    assert (row.first_name, row.last_name, row.has_usable_password()) == ("Grace", "Hopper", False)


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "replace", "value": {"active": False}}, id="okta"),
        pytest.param({"op": "Replace", "path": "active", "value": "False"}, id="entra"),
        pytest.param(
            {"op": "Replace", "path": "active", "value": [{"$ref": None, "value": "False"}]}, id="entra-wrapped"
        ),
        pytest.param({"op": "replace", "path": "active", "value": False}, id="entra-by-the-book"),
        pytest.param({"op": "Add", "value": {"Active": "false"}}, id="other-case"),
        pytest.param({"op": "replace", "value": {f"{CORE}:User:active": False}}, id="with-the-schema"),
        pytest.param({"op": "replace", "path": f"{CORE}:User:active", "value": False}, id="path-with-the-schema"),
    ],
)
def test_a_user_is_closed(directory: Directory, operation: dict[str, Any]) -> None:
    key = directory.person("grace@work.example")
    answer = directory.patch(f"Users/{key}", operation)
    assert (answer.status_code, answer.json()["active"], User.objects.get(pk=key).is_active) == (200, False, False)


def test_okta_closes_by_put_as_well(directory: Directory) -> None:
    made = directory("POST", "Users", OKTA_USER).json()
    answer = directory(
        "PUT", f"Users/{made['id']}", OKTA_USER | {"id": made["id"], "meta": made["meta"], "active": False}
    )
    assert (answer.status_code, answer.json()["active"]) == (200, False)


def test_entra_changes_several_attributes_at_once(directory: Directory) -> None:
    key = directory("POST", "Users", ENTRA_USER).json()["id"]
    answer = directory.patch(
        f"Users/{key}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "g@work.example"},
        {"op": "Add", "path": "name.familyName", "value": "Murray"},
        {"op": "Replace", "value": {"displayName": "G. Murray", "name.givenName": "G.", "title": "Admiral"}},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Reserve"},
        {"op": "Remove", "path": "externalId"},
    )
    body = answer.json()
    told = (answer.status_code, body["displayName"], body["name"], body["emails"][0]["value"], "externalId" in body)
    assert told == (200, "G. Murray", {"givenName": "G.", "familyName": "Murray"}, "g@work.example", False)


def test_entra_asks_whether_somebody_is_in_a_group(directory: Directory) -> None:
    ada, ben = directory.person("a"), directory.person("b")
    team = directory.team("night", ada)
    found = [
        directory("GET", f'Groups?excludedAttributes=members&filter=id%20eq%20"{team}"%20and%20members%20eq%20"{key}"')
        for key in (ada, ben)
    ]
    assert [one.json()["totalResults"] for one in found] == [1, 0]
    assert sorted(found[0].json()["Resources"][0]) == ["displayName", "id", "meta", "schemas"]


B = {"value": "B"}
OUT, IN = {"op": "remove", "path": 'members[value eq "A"]'}, {"op": "add", "path": "members", "value": [{"value": "A"}]}
MOVES: list[tuple[str, list[dict[str, Any]], str]] = [
    ("entra-add", [{"op": "Add", "path": "members", "value": [{"$ref": None, "value": "B"}]}], "AB"),
    ("entra-remove", [{"op": "Remove", "path": "members", "value": [{"$ref": None, "value": "A"}]}], ""),
    ("okta-remove", [OUT], ""),
    ("no-path", [{"op": "add", "value": {"members": [B | {"display": "b"}]}}], "AB"),
    ("okta-replace", [{"op": "replace", "path": "members", "value": [B]}], "B"),
    ("remove-all", [{"op": "remove", "path": "members"}], ""),
    ("not-a-list", [{"op": "add", "path": "members", "value": B}], "AB"),
    ("out-and-in", [OUT, IN], "A"),
    ("in-and-out", [IN, OUT], ""),
]


@pytest.mark.parametrize(("operations", "members"), [pytest.param(*move[1:], id=move[0]) for move in MOVES])
def test_members_come_and_go(directory: Directory, operations: list[dict[str, Any]], members: str) -> None:
    keys = {"A": directory.person("a"), "B": directory.person("b")}
    team = directory.team("night", keys["A"])
    text = msgspec.json.encode({"schemas": [PATCH], "Operations": operations}).decode()
    for letter, key in keys.items():
        text = text.replace(f'"{letter}"', f'"{key}"').replace(f'\\"{letter}\\"', f'\\"{key}\\"')
    answer = directory("PATCH", f"Groups/{team}", text.encode())
    assert answer.status_code == 200
    found = set(Group.objects.get(pk=team).user_set.values_list("pk", flat=True))
    assert found == {int(keys[letter]) for letter in members}


def test_okta_renames_a_group_with_its_id_in_the_value(directory: Directory) -> None:
    team = directory.team("night")
    answer = directory.patch(f"Groups/{team}", {"op": "replace", "value": {"id": team, "displayName": "day"}})
    assert (answer.status_code, answer.json()["displayName"]) == (200, "day")
