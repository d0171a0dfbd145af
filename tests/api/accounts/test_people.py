"""people, teams and grants over REST: as the page has them, and nothing that a token could sign in with."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from migrations_app.models.account import Grant, TemporaryPassword
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from tests.api.conftest import Tool


def verbs() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.exclude(verb="token.made").order_by("seq")
    return [(row.verb, row.object) for row in rows]


def test_an_account_that_a_token_makes_has_no_password(api: Tool) -> None:
    made = api("POST", "people", {"name": "eve"})
    told, eve = made.json(), User.objects.get(username="eve")
    assert (made.status_code, told["secret"], told["waiting"], told["local"]) == (201, "", True, False)
    assert (eve.has_usable_password(), TemporaryPassword.objects.exists(), verbs()) == (
        False, False, [("account.made", "eve")],
    )  # fmt: skip
    assert api("GET", made["Location"]).json() == {name: told[name] for name in told if name != "secret"}


def test_an_account_that_a_person_makes_has_a_password_for_once(ada: User) -> None:
    browser = Client()
    browser.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    sent = {"content_type": "application/json", "headers": {"Idempotency-Key": "k"}}
    first, again = (browser.post("/api/v1/people", {"name": "eve"}, **sent) for _ in range(2))
    assert User.objects.get(username="eve").check_password(first.json()["secret"])
    assert (again.json(), again["Idempotency-Replayed"]) == (first.json() | {"secret": ""}, "true")


def test_people_are_listed_closed_and_opened(api: Tool, ada: User, ben: User) -> None:
    first = api("GET", "people?limit=1").json()
    assert [row["name"] for row in first["results"] + api("GET", first["next"]).json()["results"]] == ["ada", "ben"]
    his, address = Tool(ben), f"people/{ben.pk}"
    tag = api("GET", address)["ETag"]
    closed = api("PATCH", address, {"active": False}, if_match=tag)
    assert (closed.json()["active"], his("GET", "me").status_code) == (False, 401)
    assert api("PATCH", address, {"active": True}, if_match=tag).status_code == 412
    assert api("PATCH", address, {"active": True}, if_match=closed["ETag"]).json()["active"]
    assert his("GET", "me").status_code == 401
    own = api("PATCH", f"people/{ada.pk}", {"active": False}, if_match="*")
    assert (own.status_code, own.json()["code"]) == (409, "own_account")
    assert [api("GET", f"people/{key}").status_code for key in (0, 10**30)] == [404, 404]


def test_a_team_is_made_changed_and_removed_with_its_roles(api: Tool, ben: User, cleo: User) -> None:
    made = api("POST", "teams", {"name": "night", "members": ["ben"]})
    assert (made.status_code, made.json()["members"]) == (201, ["ben"])
    assert api("POST", "teams", {"name": "night"}).json()["code"] == "name_taken"
    group = ClusterGroup.objects.create(name="shop")
    grant = api("POST", "grants", {"role": "operator", "team": "night", "over": str(group.pk)})
    assert (grant.status_code, api("GET", grant["Location"]).json()["over_name"]) == (201, "shop")
    changed = api("PATCH", made["Location"], {"add": ["cleo"], "remove": ["ben"]}, if_match=made["ETag"])
    assert changed.json()["members"] == ["cleo"]
    assert api("PATCH", made["Location"], {"add": ["ben"]}, if_match=made["ETag"]).status_code == 412
    half = api("PATCH", made["Location"], {"add": ["ben", "nobody"]}, if_match=changed["ETag"])
    assert (half.status_code, api("GET", made["Location"]).json()["members"]) == (404, ["cleo"])
    assert api("DELETE", made["Location"], if_match=changed["ETag"]).status_code == 204
    assert (Group.objects.exists(), Grant.objects.filter(team__isnull=False).exists()) == (False, False)
    assert verbs()[-1] == ("team.removed", "night")


def test_a_team_with_an_unknown_member_is_not_made(api: Tool) -> None:
    assert api("POST", "teams", {"name": "night", "members": ["nobody"]}).status_code == 404
    assert (Group.objects.exists(), verbs()) == (False, [])


def test_a_role_is_given_and_taken_back(api: Tool, ben: User) -> None:
    given = api("POST", "grants", {"role": "operator", "person": "ben", "over": None})
    assert (given.status_code, given.json()["created_by"]) == (201, "ada")
    again = api("POST", "grants", {"role": "operator", "person": "ben", "over": None})
    assert (again.status_code, again.json()["code"]) == (409, "given_already")
    assert api("DELETE", given["Location"]).status_code == 428
    assert api("DELETE", given["Location"], if_match=given["ETag"]).status_code == 204
    assert (api("GET", given["Location"]).status_code, verbs()) == (
        404, [("access.given", "ben"), ("access.taken_back", "ben")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"role": "root", "person": "ben", "over": None}, 400),
        ({"role": "viewer", "over": None}, 400),
        ({"role": "viewer", "person": "ben", "team": "x", "over": None}, 400),
        ({"role": "viewer", "person": "ben"}, 400),
        ({"role": "viewer", "person": "nobody", "over": None}, 404),
        ({"role": "viewer", "person": "ben", "over": "00000000-0000-0000-0000-000000000000"}, 404),
    ],
)
def test_grants_that_are_none(api: Tool, ben: User, body: object, status: int) -> None:
    assert (api("POST", "grants", body).status_code, Grant.objects.count()) == (status, 1)


def appointing(name: str) -> User:
    """Somebody who may decide what others may do, and nothing else."""
    user = User.objects.create_user(name)
    user.user_permissions.add(Permission.objects.get(codename="change_grant"))
    return user


def by_role(_tool: Tool) -> tuple[str, dict[str, object]]:
    return "grants", {"role": "admin", "person": "eve", "over": None}


def by_team(_tool: Tool) -> tuple[str, dict[str, object]]:
    Group.objects.create(name="chiefs").user_set.add(User.objects.get(username="eve"))
    return "grants", {"role": "admin", "team": "chiefs", "over": None}


def by_joining(_tool: Tool) -> tuple[str, dict[str, object]]:
    return "teams", {"name": "chiefs", "members": ["eve"]}


@pytest.mark.parametrize("way", [by_role, by_team, by_joining])
def test_a_token_gives_its_owner_nothing(db: None, way: Callable[[Tool], tuple[str, dict[str, object]]]) -> None:
    eve = appointing("eve")
    path, body = way(Tool(eve))
    said = Tool(eve)("POST", path, body)
    assert (said.status_code, said.json()["code"], Grant.objects.exists()) == (403, "own_rights", False)
    browser = Client()
    browser.force_login(eve, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.post(f"/api/v1/{path}", body, content_type="application/json").status_code == 201


def test_the_last_who_may_appoint_stays(db: None) -> None:
    chief = User.objects.create_user("chief")
    last = Grant.objects.create(person=chief, role="admin")
    said = Tool(chief)("DELETE", f"grants/{last.pk}", if_match="*")
    assert (said.status_code, said.json()["code"], Grant.objects.count()) == (409, "last_admin", 1)


def test_the_policy_of_a_cluster_is_taken_away(api: Tool, scanned: Callable[..., object]) -> None:
    address = f"clusters/{scanned().pk}/policy"  # type: ignore[attr-defined]  # a cluster
    assert api("DELETE", address, if_match=api("GET", address)["ETag"]).status_code == 404
    wanted = {"approvals": {"low": 1, "medium": 1, "high": 1, "destructive": 2}}
    own = api("PUT", address, wanted, if_match=api("GET", address)["ETag"])
    assert [row["name"] for row in api("GET", "policies").json()["results"]] == ["beta_037"]
    assert api("DELETE", address, if_match=own["ETag"]).status_code == 204
    assert (api("GET", address).json()["own"], api("GET", "policies").json()["results"]) == (False, [])
