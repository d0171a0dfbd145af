"""Service accounts: what they may do, from where their tokens are taken, and that nobody signs in as one."""

import uuid
from datetime import timedelta
from ipaddress import ip_network
from types import SimpleNamespace

import pytest
from django.contrib.auth import authenticate as sign_in
from django.contrib.auth.models import Permission, User
from django.test import RequestFactory
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.access import NEVER_OF_PROGRAMS, PROGRAM_ROLES, ROLES
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.account import ApiToken, Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.queries.accounts.people import accounts, grant_page
from migrations_app.queries.accounts.services import service_of
from migrations_app.queries.rollouts.approvers import approvers_of
from migrations_app.queries.visibility import permissions_of, rights_over
from migrations_app.use_cases.accounts import management, oidc, service_tokens, services, tokens
from migrations_app.use_cases.accounts.management import RoleGrant
from migrations_app.use_cases.accounts.networks import MAX_NETWORKS, checked_networks, inside
from migrations_app.use_cases.accounts.services import ServiceRules
from tests.builders.rows import a_cluster
from tests.use_cases.people import person, user

pytestmark = pytest.mark.django_db
HOME, AWAY = "192.0.2.7", "198.51.100.7"


def rules(**more):
    told = {"purpose": "", "role": "viewer", "everywhere": True, "groups": (), "scopes": ("read",), "networks": ()}
    return ServiceRules(**{**told, **more})


@pytest.fixture
def ada():
    return person(User.objects.create_superuser("ada"))


def a_token(service, ada, *scopes, days=1):
    return service_tokens.issue_service_token(service, name="x", scopes=scopes or ("read",), days=days, person=ada)


def last_event():
    row = AuditEvent.objects.order_by("seq").last()
    return row.verb, row.object, row.outcome


# A42
@pytest.mark.parametrize("role", PROGRAM_ROLES)
def test_no_role_brings_a_program_what_people_decide(ada, role):
    cluster = a_cluster("a")
    services.create_service("ci", rules(role=role), person=ada)
    mine = rights_over(User.objects.get(username="service:ci"), cluster.pk)
    assert mine == ROLES[role] - NEVER_OF_PROGRAMS
    assert approvers_of(cluster.pk, author=None) == ("ada",)


def test_a_role_over_groups_holds_for_their_clusters_only(ada):
    mine, other = a_cluster("mine"), a_cluster("other")
    group = ClusterGroup.objects.create(name="shop")
    group.clusters.add(mine)
    made = services.create_service("ci", rules(role="operator", everywhere=False, groups=(group.pk,)), person=ada)
    account = User.objects.get(username="service:ci")
    assert (rights_over(account, mine.pk), rights_over(account, other.pk)) == (ROLES["operator"], frozenset())
    group.delete()
    told = service_of(made)
    assert (told.role, told.everywhere, permissions_of(User.objects.get(pk=account.pk)).everywhere) == (
        "", False, frozenset(),
    )  # fmt: skip


def test_nobody_signs_in_as_one_and_the_pages_of_people_do_not_know_it(ada):
    services.create_service("ci", rules(role="admin"), person=ada)
    request = RequestFactory().post("/login")
    assert [sign_in(request, username="service:ci", password=word) for word in ("", "x", "!")] == [None] * 3
    assert (not User.objects.get(username="service:ci").has_usable_password(), [row.name for row in accounts()]) == (
        True,
        ["ada"],
    )
    grant = Grant.objects.get()
    assert grant_page().rows == ()
    for act in (
        lambda: management.reset_password("service:ci"),
        lambda: management.first_password("service:ci", person=ada),
        lambda: management.set_active("service:ci", active=False, person=ada),
        lambda: management.add_to_team("night", member="service:ci", person=ada),
        lambda: management.grant_role(RoleGrant(role="approver", person="service:ci"), person=ada),
        lambda: management.revoke_role(grant.pk, person=ada),
    ):
        with pytest.raises(NotFound):
            act()


def test_a_service_account_is_nobody_who_may_appoint(ada):
    services.create_service("ci", rules(role="admin"), person=ada)
    User.objects.filter(pk=ada.id).update(is_superuser=False)
    with pytest.raises(Conflict):
        management.refuse_without_admin()


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"role": "approver"}, InvalidInput),
        ({"scopes": ()}, InvalidInput),
        ({"scopes": ("root",)}, InvalidInput),
        ({"everywhere": False}, InvalidInput),
        ({"groups": (uuid.uuid4(),)}, InvalidInput),
        ({"everywhere": False, "groups": (uuid.uuid4(),)}, NotFound),
        ({"networks": ("192.0.2.1/24",)}, InvalidInput),
        ({"purpose": "x" * 301}, InvalidInput),
    ],
)
def test_rules_that_are_none(ada, more, wrong):
    with pytest.raises(wrong):
        services.create_service("ci", rules(**more), person=ada)
    assert [list(rows.values_list("pk")) for rows in (ServiceAccountRow.objects, User.objects.exclude(pk=ada.id))] == [
        [],
        [],
    ]
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a b", "service:x", "a" * 61])
def test_names_that_are_none(ada, name):
    with pytest.raises(InvalidInput):
        services.create_service(name, rules(), person=ada)


def test_nobody_gives_a_program_rights_that_they_lack(ada):
    user("ben")
    appointing = User.objects.get(username="ben")
    appointing.user_permissions.add(Permission.objects.get(codename="change_grant"))
    for role, allowed in (("viewer", True), ("operator", False), ("admin", False)):
        if allowed:
            services.create_service(f"by-{role}", rules(role=role), person=person(appointing))
            continue
        with pytest.raises(PermissionDenied):
            services.create_service(f"by-{role}", rules(role=role), person=person(appointing))
    user("cleo", "approver")
    with pytest.raises(PermissionDenied):
        services.create_service("ci", rules(), person=person(User.objects.get(username="cleo")))


def test_a_program_issues_no_token_for_itself(ada):
    made = services.create_service("ci", rules(scopes=("read", "admin"), networks=("192.0.2.0/24",)), person=ada)
    account = User.objects.get(username="service:ci")
    for issue in (lambda **more: tokens.issue(account, **more), lambda **more: tokens.issue_for("service:ci", **more)):
        with pytest.raises(InvalidInput) as refused:
            issue(name="x", scopes=["read"], days=1)
        assert refused.value.code == "service_account"
    secret = tokens.new_secret()  # one that an earlier release issued
    ApiToken.objects.create(
        owner=account, name="x", prefix=secret.prefix, digest=secret.digest, scopes=["read"],
        expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    assert service_tokens.authenticate(secret.text, address=HOME) is None
    assert service_tokens.authenticate(a_token(made, ada).secret, address=HOME) is not None


def test_a_token_is_taken_from_its_networks_only_and_the_refusal_is_recorded_once(ada):
    made = services.create_service("ci", rules(networks=("192.0.2.0/24",)), person=ada)
    secret = a_token(made, ada).secret
    use = service_tokens.authenticate(secret, address=HOME)
    assert (use.owner.username, use.scopes) == ("service:ci", ("read",))
    assert service_tokens.authenticate(secret, address="::ffff:192.0.2.9") is not None
    before = AuditEvent.objects.count()
    assert [service_tokens.authenticate(secret, address=where) for where in (AWAY, AWAY, "", "x")] == [None] * 4
    told = AuditEvent.objects.filter(verb="token.refused").order_by("seq")
    assert [(row.actor, row.address, row.outcome) for row in told][:1] == [("service:ci", AWAY, "network")]
    assert (told.filter(address=AWAY).count(), AuditEvent.objects.count() > before) == (1, True)
    assert secret not in repr(list(AuditEvent.objects.values()))


def test_scopes_are_those_of_the_token_and_of_the_account_at_each_request(ada):
    made = services.create_service("ci", rules(scopes=("read", "scan")), person=ada)
    secret = a_token(made, ada, "read", "scan").secret
    assert service_tokens.authenticate(secret, address=HOME).scopes == ("read", "scan")
    services.change_service(made, rules(scopes=("read",), networks=(HOME,)), version=1, person=ada)
    assert service_tokens.authenticate(secret, address=HOME).scopes == ("read",)
    assert service_of(made).networks == ("192.0.2.7/32",)
    with pytest.raises(Conflict):
        services.change_service(made, rules(), version=1, person=ada)
    with pytest.raises(InvalidInput):
        a_token(made, ada, "scan")


def test_a_token_without_an_end_only_looks(ada):
    made = services.create_service("prometheus", rules(scopes=("metrics", "read", "act")), person=ada)
    endless = a_token(made, ada, "metrics", days=None)
    assert endless.expires_at is None
    assert service_tokens.authenticate(endless.secret, address=AWAY).scopes == ("metrics",)
    for scopes, days in ((("act",), None), (("metrics", "act"), None), (("read",), 366), (("read",), 0)):
        with pytest.raises(InvalidInput):
            a_token(made, ada, *scopes, days=days)
    ended = a_token(made, ada, "act")
    ServiceToken.objects.filter(pk=ended.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert service_tokens.authenticate(ended.secret, address=HOME) is None


def test_revoked_and_ended_is_for_good(ada):
    made = services.create_service("ci", rules(), person=ada)
    first, second = a_token(made, ada), a_token(made, ada)
    service_tokens.revoke_service_token(first.id, person=ada)
    assert (last_event(), service_tokens.authenticate(first.secret, address=HOME)) == (
        ("token.revoked", "x", "done"),
        None,
    )
    services.end_service(made, person=ada)
    assert (last_event(), service_tokens.authenticate(second.secret, address=HOME)) == (
        ("service.ended", "ci", "done"), None,
    )  # fmt: skip
    for act in (
        lambda: services.end_service(made, person=ada),
        lambda: services.change_service(made, rules(), version=2, person=ada),
        lambda: a_token(made, ada),
        lambda: service_tokens.revoke_service_token(second.id, person=ada),
    ):
        with pytest.raises(NotFound):
            act()
    with pytest.raises(Conflict):
        services.create_service("ci", rules(), person=ada)


def test_no_more_than_twenty_tokens_live_at_once(ada, monkeypatch):
    monkeypatch.setattr(service_tokens, "MAX_TOKENS", 2)
    made = services.create_service("ci", rules(), person=ada)
    first, _second = a_token(made, ada), a_token(made, ada)
    with pytest.raises(Conflict):
        a_token(made, ada)
    service_tokens.revoke_service_token(first.id, person=ada)
    a_token(made, ada)


def test_ranges_are_kept_in_one_form():
    assert checked_networks(["2001:db8::/32", "192.0.2.7", " 192.0.2.0/24 ", "192.0.2.7/32"]) == [
        "192.0.2.0/24", "192.0.2.7/32", "2001:db8::/32",
    ]  # fmt: skip
    for wrong in (["10.0.0.1/8"], ["x"], [""], ["10.0.0.0/33"], ["10.0.0.0"] * (MAX_NETWORKS + 1)):
        with pytest.raises(InvalidInput):
            checked_networks(wrong)


@given(st.ip_addresses(), st.integers(min_value=0, max_value=32))
def test_an_address_lies_in_the_range_that_is_cut_out_of_it(address, bits):
    mine = str(ip_network(f"{address}/{bits}", strict=False))
    assert inside(str(address), checked_networks([mine]))
    assert not inside(str(address), [])


@pytest.mark.parametrize("form", ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"])
def test_both_ways_of_writing_an_ipv4_address_count(form):
    assert (inside(form, ["192.0.2.0/24"]), inside(form, ["198.51.100.0/24", "2001:db8::/32"])) == (True, False)


@pytest.mark.parametrize("name", ["service:ci", "Service:ci"])
def test_nobody_from_a_provider_is_named_like_a_service_account(monkeypatch, name):
    names = SimpleNamespace(username_claim="preferred_username", groups_claim="groups", groups_prefix="")
    monkeypatch.setattr(oidc, "client", lambda: names)
    with pytest.raises(PermissionDenied):
        oidc.account_of({"preferred_username": name, "sub": "s", "iss": "https://id.example", "groups": []})
    assert not User.objects.exists()
