"""Accounts, teams and roles: given, taken back, told to the audit log; somebody who may appoint is always left."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from migrations_app.access import ROLES
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.account import Grant, TemporaryPassword
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.accounts import management, tokens
from migrations_app.use_cases.accounts.management import RoleGrant
from tests.builders.rows import a_cluster
from tests.use_cases.people import person, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return person(User.objects.create_superuser("ada"))


def told():
    return [(row.verb, row.object) for row in AuditEvent.objects.order_by("seq")]


def rights(name, cluster=None):
    return rights_over(User.objects.get(username=name), cluster.pk if cluster else None)


def test_a_new_account_has_a_password_for_once_and_no_right(ada):
    password = management.create_account("ben", person=ada)
    row = User.objects.get(username="ben")
    assert (row.check_password(password), TemporaryPassword.objects.filter(user=row).exists()) == (True, True)
    assert (rights("ben"), told()) == (frozenset(), [("account.made", "ben")])


@pytest.mark.parametrize(
    ("name", "wrong"), [("ada", Conflict), ("", InvalidInput), ("a b", InvalidInput), ("x" * 151, InvalidInput)]
)
def test_names_that_are_none(ada, name, wrong):
    with pytest.raises(wrong):
        management.create_account(name, person=ada)
    assert (User.objects.count(), told()) == (1, [])


def test_a_role_over_a_group_is_a_role_over_its_clusters_only(ada):
    user("ben")
    mine, other = a_cluster("mine"), a_cluster("other")
    group = ClusterGroup.objects.create(name="shop")
    group.clusters.add(mine)
    management.grant_role(RoleGrant(role="operator", person="ben", over=group.pk), person=ada)
    assert (rights("ben", mine), rights("ben", other), rights("ben")) == (
        ROLES["operator"], frozenset(), frozenset(),
    )  # fmt: skip
    assert told() == [("access.given", "ben")]


def test_a_role_of_a_team_comes_and_goes_with_the_membership(ada):
    user("ben")
    management.add_to_team("night", member="ben", person=ada)
    management.grant_role(RoleGrant(role="approver", team="night"), person=ada)
    assert rights("ben") == ROLES["approver"]
    management.remove_from_team("night", member="ben", person=ada)
    assert rights("ben") == frozenset()
    assert [verb for verb, _ in told()] == ["account.joined", "access.given", "account.left"]


def test_a_role_that_is_taken_back_is_gone_at_once(ada):
    user("ben")
    made = management.grant_role(RoleGrant(role="admin", person="ben"), person=ada)
    assert rights("ben") == ROLES["admin"]
    management.revoke_role(made, person=ada)
    assert (rights("ben"), told()[-1]) == (frozenset(), ("access.taken_back", "ben"))


@pytest.mark.parametrize(
    ("gift", "wrong"),
    [
        (RoleGrant(role="king", person="ben"), InvalidInput),
        (RoleGrant(role="viewer"), InvalidInput),
        (RoleGrant(role="viewer", person="ben", team="night"), InvalidInput),
        (RoleGrant(role="viewer", person="nobody"), NotFound),
        (RoleGrant(role="viewer", team="nobody"), NotFound),
    ],
)
def test_gifts_that_are_none(ada, gift, wrong):
    user("ben")
    Group.objects.create(name="night")
    with pytest.raises(wrong):
        management.grant_role(gift, person=ada)
    assert (Grant.objects.count(), told()) == (0, [])


def test_the_same_role_is_not_given_twice(ada):
    user("ben")
    management.grant_role(RoleGrant(role="viewer", person="ben"), person=ada)
    with pytest.raises(Conflict):
        management.grant_role(RoleGrant(role="viewer", person="ben"), person=ada)
    assert Grant.objects.count() == 1


def test_closing_an_account_ends_its_sessions_and_tokens_for_good(ada):
    ben = user("ben")
    client = Client()
    client.force_login(ben, backend="django.contrib.auth.backends.ModelBackend")
    secret = tokens.issue(ben, name="t", scopes=["read"], days=1).secret
    management.set_active("ben", active=False, person=ada)
    assert (client.get("/").status_code, tokens.authenticate(secret)) == (302, None)
    management.set_active("ben", active=True, person=ada)
    assert (client.get("/").status_code, tokens.authenticate(secret)) == (302, None)
    assert told()[1:] == [("account.closed", "ben"), ("account.opened", "ben")]


def test_nobody_closes_their_own_account(ada):
    User.objects.create_superuser("eve")
    with pytest.raises(Conflict):
        management.set_active("ada", active=False, person=ada)
    assert User.objects.get(username="ada").is_active


def test_somebody_who_may_appoint_is_always_left():
    user("ben")
    made = management.grant_role(RoleGrant(role="admin", person="ben"), person=None)
    for act in (
        lambda: management.revoke_role(made, person=None),
        lambda: management.set_active("ben", active=False, person=None),
    ):
        with pytest.raises(Conflict):
            act()
    assert (Grant.objects.count(), User.objects.get(username="ben").is_active) == (1, True)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "admin"])
def test_only_an_admin_of_everything_appoints(role):
    ben = user("ben")
    group = ClusterGroup.objects.create(name="shop")
    Grant.objects.create(person=ben, role=role)
    Grant.objects.create(person=ben, role="admin", over=group)
    with pytest.raises(PermissionDenied):
        management.grant_role(RoleGrant(role="admin", person="ben"), person=person(ben))
    assert Grant.objects.count() == 2
