"""Groups over SCIM are teams: members have the roles that the team was given, and sign-in leaves them alone."""

import contextlib

import pytest
from django.contrib.auth.models import Group, User

from migrations_app.models.account import Grant, Identity
from migrations_app.models.audit import AuditEvent
from migrations_app.queries.visibility import permissions_of
from migrations_app.use_cases.accounts import directory_people as people
from migrations_app.use_cases.accounts import oidc
from tests.scim.conftest import Directory


def test_who_comes_has_the_roles_of_the_team_and_who_goes_has_not(directory: Directory) -> None:
    key = directory.person("grace")
    team = directory.team("night", key)
    Grant.objects.create(team=Group.objects.get(pk=team), role="operator")
    assert "operate" in permissions_of(User.objects.get(pk=key)).everywhere
    told = directory("GET", f"Users/{key}").json()["groups"]
    assert [(one["value"], one["display"]) for one in told] == [(team, "night")]
    directory("PUT", f"Groups/{team}", {"displayName": "night", "members": []})
    assert "operate" not in permissions_of(User.objects.get(pk=key)).everywhere
    events = AuditEvent.objects.filter(verb="team.members").order_by("seq")
    assert [(one.actor, one.object) for one in events] == [("scim:okta", "night")] * 2


def test_the_team_of_the_last_admin_stays(directory: Directory, ada: User) -> None:
    key = directory.person("grace")
    team = directory.team("admins", key)
    Grant.objects.create(team=Group.objects.get(pk=team), role="admin")
    User.objects.filter(pk=ada.pk).update(is_active=False)
    for answer in (
        directory("DELETE", f"Groups/{team}"),
        directory.patch(f"Groups/{team}", {"op": "remove", "path": "members"}),
        directory.patch(f"Users/{key}", {"op": "replace", "path": "active", "value": False}),
    ):
        assert (answer.status_code, "no account would be left" in answer.json()["detail"]) == (409, True)
    assert (Group.objects.get(pk=team).user_set.count(), User.objects.get(pk=key).is_active) == (1, True)


def test_a_member_that_is_not_there_is_refused_and_nothing_done(directory: Directory) -> None:
    key, team = directory.person("grace"), directory.team("night")
    for wrong in ("4711", "x", "-1", "1" * 30):
        body = {"op": "add", "path": "members", "value": [{"value": key}, {"value": wrong}]}
        answer = directory.patch(f"Groups/{team}", body)
        assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    nested = directory.patch(
        f"Groups/{team}", {"op": "add", "path": "members", "value": [{"value": team, "type": "Group"}]}
    )
    assert (nested.status_code, Group.objects.get(pk=team).user_set.count()) == (400, 0)


def test_names_of_teams_are_given_once(directory: Directory) -> None:
    first, second = directory.team("night"), directory.team("day")
    for answer in (
        directory("POST", "Groups", {"displayName": "night"}),
        directory("PUT", f"Groups/{second}", {"displayName": "night"}),
    ):
        assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    assert directory("POST", "Groups", {"members": []}).status_code == 400
    assert directory("GET", 'Groups?filter=displayName%20eq%20"NIGHT"').json()["Resources"][0]["id"] == first
    assert directory("DELETE", f"Groups/{first}").status_code == 204
    assert directory("GET", f"Groups/{first}").status_code == 404


CLAIMS = {"iss": "https://id.example", "sub": "u-1", "preferred_username": "grace@work.example"}


@pytest.fixture
def _provider(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.servers.identity_provider import CLIENT

    told = oidc.OidcClient(
        issuer="https://id.example", client_id=CLIENT, client_secret=None, username_claim="preferred_username",  # type: ignore[arg-type]  # not asked for
        groups_claim="groups", groups_prefix="", scopes="openid", label="x",
    )  # fmt: skip
    monkeypatch.setattr(oidc, "client", lambda: told)


@pytest.mark.usefixtures("_provider")
def test_a_provisioned_person_signs_in_at_the_provider_and_keeps_the_directorys_teams(directory: Directory) -> None:
    key = directory.person("Grace@work.example")
    directory.team("night", key)
    user = oidc.account_of(CLAIMS | {"groups": ["canteen"]})
    assert (str(user.pk), sorted(one.name for one in user.groups.all())) == (key, ["canteen", "night"])
    other = directory.team("day")
    user = oidc.account_of(CLAIMS | {"groups": ["day"]})
    assert ([one.name for one in user.groups.all()], Group.objects.get(pk=other).user_set.count()) == (["night"], 0)


@pytest.mark.usefixtures("_provider")
def test_only_a_person_whom_the_directory_made_and_who_never_signed_in_is_taken_over(directory: Directory) -> None:
    User.objects.create_user("eve", password="correct horse battery staple")
    directory.person("grace@work.example")
    oidc.account_of(CLAIMS)
    for name, subject in (("eve", "u-2"), ("grace@work.example", "u-3"), ("scim:okta", "u-4"), ("service:x", "u-5")):
        with pytest.raises(oidc.PermissionDenied):
            oidc.account_of(CLAIMS | {"preferred_username": name, "sub": subject})
    assert list(Identity.objects.values_list("subject", flat=True)) == ["u-1"]


@pytest.mark.usefixtures("_provider")
def test_a_name_that_the_directory_has_for_another_account_makes_no_new_one(directory: Directory) -> None:
    eve = User.objects.create_user("eve", password="correct horse battery staple")
    directory.patch(f"Users/{eve.pk}", {"op": "replace", "path": "userName", "value": "eve.l@work.example"})
    for _ in range(2):
        with pytest.raises(oidc.PermissionDenied, match="exists already"):
            oidc.account_of(CLAIMS | {"preferred_username": "Eve.L@work.example"})
        directory("DELETE", f"Users/{eve.pk}")  # nor after that: who left comes in by no other account
    assert (User.objects.count(), Identity.objects.count()) == (2, 0)


@pytest.mark.parametrize(
    ("other", "same"), [("ADMIN", True), ("admin", True), ("adm\u0131n", False), ("a\u1e0bmin", False)]
)
def test_names_are_the_same_in_another_case_only(other: str, same: bool) -> None:
    assert people.is_same_name("Admin", other) is same
    assert people.is_same_name("\u017fam", "Sam") is people.is_same_name("\u212aim", "kim") is False


@pytest.mark.usefixtures("_provider")
def test_nobody_is_tied_by_a_name_that_has_the_same_capitals(directory: Directory) -> None:
    """On PostgreSQL the database itself finds the account."""
    directory.person("admin")
    with contextlib.suppress(oidc.PermissionDenied):
        oidc.account_of(CLAIMS | {"preferred_username": "adm\u0131n"})
    assert Identity.objects.filter(user__username="admin").count() == 0
    oidc.account_of(CLAIMS | {"preferred_username": "ADMIN", "sub": "u-9"})
    assert Identity.objects.get(user__username="admin").subject == "u-9"


@pytest.mark.usefixtures("_provider")
def test_who_was_closed_by_the_directory_signs_in_no_more(directory: Directory) -> None:
    key = directory.person("grace@work.example")
    oidc.account_of(CLAIMS)
    directory.patch(f"Users/{key}", {"op": "replace", "path": "active", "value": False})
    with pytest.raises(oidc.PermissionDenied, match="closed"):
        oidc.account_of(CLAIMS)
