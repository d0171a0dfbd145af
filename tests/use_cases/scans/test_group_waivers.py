"""Waivers of a group: they hold where the group is, follow its clusters, and are seen by those who see the group."""

import pytest
from django.utils import timezone

from migrations_app.access import EffectivePermissions
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.account import Grant
from migrations_app.models.policy import GroupWaiver, Waiver
from migrations_app.models.scan import Snapshot
from migrations_app.queries.fleet.waivers import (
    WaiverFilters,
    active_waivers_of_cluster,
    waiver_of,
    waiver_page,
    waiver_states,
    waivers_by_cluster,
)
from migrations_app.queries.scans.findings import FindingFilters, finding_page
from migrations_app.queries.visibility import VisibilityScope, visibility_scope
from migrations_app.use_cases.clusters import groups
from migrations_app.use_cases.scans import waivers
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.people import ADMINISTER, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db
BLOCKER = "legacy_provisioners_gone"


@pytest.fixture
def gil():
    return person(user("gil", ADMINISTER))


def now():
    return timezone.now()


def judged(name):
    row = a_cluster(name)
    a_snapshot(row, a_report(name, checks=(a_finding(BLOCKER), a_finding("crds_served", status="pass"))))
    return row


def blockers(*rows):
    return [Snapshot.objects.get(cluster=row).blockers for row in rows]


def team(*clusters, name="team"):
    made = groups.create_group(name)
    groups.add_to_group(made, [one.pk for one in clusters])
    return made


def test_it_holds_for_the_clusters_of_the_group_and_for_no_other(gil):
    shop, other = judged("shop"), judged("other")
    waivers.waive(a_wish(BLOCKER, group=team(shop)), gil, now=now())
    assert (waivers.expire_waivers(now()), blockers(shop, other), waivers.expire_waivers(now())) == (1, [0, 1], 0)
    assert set(waivers_by_cluster(now())) == {shop.pk}
    assert (len(active_waivers_of_cluster(shop.pk, now())), active_waivers_of_cluster(other.pk, now())) == (1, ())
    shown = {row.cluster: row.status for row in finding_page(FindingFilters(check=BLOCKER), after="", limit=9).rows}
    assert shown == {shop.pk: "waived", other.pk: "fail"}


def test_it_follows_the_clusters_of_the_group(gil):
    shop, other = judged("shop"), judged("other")
    group = team(shop)
    waivers.waive(a_wish(BLOCKER, group=group), gil, now=now())
    groups.add_to_group(group, [other.pk])
    groups.remove_from_group(group, [shop.pk])
    waivers.expire_waivers(now())
    assert blockers(shop, other) == [1, 0]


def test_revoked_it_covers_nothing(gil):
    shop = judged("shop")
    made = waivers.waive(a_wish(BLOCKER, group=team(shop)), gil, now=now())
    waivers.revoke(made, gil, now=now())
    waivers.expire_waivers(now())
    assert (waivers_by_cluster(now()), blockers(shop)) == ({}, [1])


def test_one_of_a_kind_for_each_group_beside_that_of_all(gil):
    group, other = team(), team(name="other")
    for wish in (a_wish(BLOCKER), a_wish(BLOCKER, group=group), a_wish(BLOCKER, group=other)):
        waivers.waive(wish, gil, now=now())
        with pytest.raises(Conflict):
            waivers.waive(wish, gil, now=now())
    with pytest.raises(InvalidInput):
        waivers.waive(a_wish(BLOCKER, a_cluster(), group=group), gil, now=now())
    assert (Waiver.objects.count(), GroupWaiver.objects.count()) == (3, 2)


def test_it_takes_the_right_to_set_policies_over_that_group():
    mine, other = team(), team(name="other")
    ann = user("ann")
    Grant.objects.create(person=ann, over_id=mine, role="admin")
    ben = user("ben", "change_cluster")
    made = waivers.waive(a_wish(BLOCKER, group=mine), person(ann), now=now())
    for who, group in ((ann, other), (ben, mine)):
        with pytest.raises(PermissionDenied):
            waivers.waive(a_wish("crds_served", group=group), person(who), now=now())
    with pytest.raises(PermissionDenied):
        waivers.revoke(made, person(ben), now=now())
    assert (Waiver.objects.count(), waiver_of(made, now=now()).state) == (1, "active")


def test_who_does_not_see_the_group_does_not_see_its_waiver(gil):
    mine, other = team(), team(name="other")
    made = waivers.waive(a_wish(BLOCKER, group=mine), gil, now=now())
    everywhere = waivers.waive(a_wish(BLOCKER), gil, now=now())
    with visibility_scope(VisibilityScope(EffectivePermissions(by_group={other: frozenset({"view"})}))):
        assert [row.id for row in waiver_page(WaiverFilters(), now=now()).rows] == [everywhere]
        assert waiver_states(now()) == {"active": 1, "ending": 0, "ended": 0, "revoked": 0}
        with pytest.raises(NotFound):
            waiver_of(made, now=now())
        with pytest.raises(NotFound):
            waivers.revoke(made, gil, now=now())
    with visibility_scope(VisibilityScope(EffectivePermissions(by_group={mine: frozenset({"view"})}))):
        assert {row.id for row in waiver_page(WaiverFilters(), now=now()).rows} == {made, everywhere}
