"""A role over a group counts for its clusters alone: at approving, at starting, and while a rollout runs (A41)."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.access import RIGHTS, ROLES, EffectivePermissions
from migrations_app.errors import Conflict, NotFound, PermissionDenied
from migrations_app.execution.interface import RolloutHalted
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.rollouts.rollouts import inbox
from migrations_app.queries.visibility import (
    NOTHING,
    VisibilityScope,
    permissions_of,
    subject_of,
    visibility_scope,
    visible_clusters,
)
from migrations_app.use_cases.accounts.rights import person_over_cluster, rights_of_account
from migrations_app.use_cases.rollouts import approvals, drafts, lifecycle
from migrations_app.use_cases.rollouts.drafts import RolloutRequest
from migrations_app.use_cases.rollouts.limits import refuse_without_right
from migrations_app.use_cases.scans import waivers
from tests.builders.rollouts import a_rollout, an_approval
from tests.builders.rows import a_cluster
from tests.use_cases.people import actor, approval_request, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters():
    """(own, foreign): the first is in the group over which roles are given."""
    own, foreign = a_cluster("own"), a_cluster("foreign")
    ClusterGroup.objects.create(name="shop").clusters.add(own)
    return own, foreign


def holding(name, role):
    made = user(name)
    Grant.objects.create(person=made, role=role, over=ClusterGroup.objects.get())
    return made


def again(who):
    return User.objects.get(pk=who.pk)


def test_an_approver_approves_in_their_group_alone(clusters):
    ben = holding("ben", "approver")
    own, foreign = (a_rollout(cluster, state="awaiting_approval", author=user(f"a-{cluster}")) for cluster in clusters)
    assert (
        approvals.approve(own.pk, person(ben), approval_request=approval_request(own), by=actor(ben)).state
        == "approved"
    )
    with pytest.raises(PermissionDenied):
        approvals.approve(foreign.pk, person(ben), approval_request=approval_request(foreign), by=actor(ben))


def test_a_yes_stops_counting_when_the_role_is_taken_back(clusters):
    ben, eve = holding("ben", "approver"), holding("eve", "operator")
    row = a_rollout(clusters[0], state="approved", author=user("author"))
    an_approval(row, ben)
    Grant.objects.filter(person=ben).delete()
    with pytest.raises(Conflict) as caught:
        lifecycle.start(row.pk, person(eve), digest=row.digest, by=actor(eve))
    assert caught.value.code == "approval_missing"


def test_an_operator_starts_and_prepares_in_their_group_alone(clusters):
    own, foreign = clusters
    eve = holding("eve", "operator")
    row = a_rollout(foreign, state="approved")
    for act in (
        lambda: lifecycle.start(row.pk, person(eve), digest=row.digest, by=actor(eve)),
        lambda: lifecycle.abort(row.pk, person(eve), by=actor(eve)),
        lambda: drafts.draft(foreign.pk, RolloutRequest(action="roll_nodes"), by=actor(eve), person=person(eve)),
        lambda: waivers.waive(a_wish(cluster=own), person(eve), now=timezone.now()),
    ):
        with pytest.raises(PermissionDenied):
            act()
    row.refresh_from_db()
    assert row.state == "approved"


def test_a_rollout_halts_when_whoever_started_it_may_not_any_more(clusters):
    eve = holding("eve", "operator")
    row = a_rollout(clusters[0], state="running", started_by_name="eve")
    refuse_without_right(row)
    Grant.objects.all().delete()
    with pytest.raises(RolloutHalted) as caught:
        refuse_without_right(row)
    assert (caught.value.code, caught.value.state) == ("right_gone", "paused")
    Grant.objects.create(person=eve, role="operator")
    User.objects.filter(pk=eve.pk).update(is_active=False)
    assert rights_of_account("eve", clusters[0].pk) == frozenset()
    with pytest.raises(RolloutHalted):
        refuse_without_right(row)


def test_what_is_seen(clusters):
    own, foreign = clusters
    ben = holding("ben", "viewer")
    permissions = permissions_of(again(ben))
    with visibility_scope(VisibilityScope(permissions)):
        assert list(visible_clusters()) == [own]
        with pytest.raises(NotFound):
            cluster_head(foreign.pk, now=timezone.now())
    with visibility_scope(NOTHING):
        assert not visible_clusters().exists()
    assert visible_clusters().count() == 2
    assert subject_of("cluster", own.pk, permissions=permissions) == own.pk
    with pytest.raises(NotFound):
        subject_of("cluster", foreign.pk, permissions=permissions)


def test_the_inbox_holds_what_the_approver_may_approve(clusters):
    ben = holding("ben", "approver")
    own, foreign = (a_rollout(cluster, state="awaiting_approval", author=user(f"a-{cluster}")) for cluster in clusters)
    Grant.objects.create(person=ben, role="viewer")
    with visibility_scope(VisibilityScope(permissions_of(again(ben)))):
        assert [row.id for row in inbox(ben.pk)] == [own.pk]
    assert foreign.state == "awaiting_approval"


def test_rights_add_up_over_groups_teams_and_permissions(clusters):
    own, foreign = clusters
    ben = user("ben", "add_scan")
    Grant.objects.create(person=ben, role="approver", over=ClusterGroup.objects.get())
    assert person_over_cluster(person(ben), own.pk).rights == {"view", "scan", "approve"}
    assert person_over_cluster(person(ben), foreign.pk).rights == {"view", "scan"}
    assert person_over_cluster(person(ben), None).rights == {"view", "scan"}


def test_standings_are_plain_values():
    group = ClusterGroup(name="shop").pk
    some = EffectivePermissions(by_group={group: ROLES["admin"]})
    assert some.over((group,)) == RIGHTS - {"break_glass"}
    assert some.over(()) == frozenset()
    assert some.over_nothing_named() == {"view", "operate", "approve", "change", "audit"}
    assert (some.groups_with("view"), some.groups_with("break_glass")) == ({group}, frozenset())
    assert permissions_of(User(is_active=False)) == EffectivePermissions()
