"""Two registrations of one cluster become one: what moves, what ends, and what refuses it (A05, A13)."""

import dataclasses
import uuid
from datetime import date, timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import ManyToManyRel
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.account import Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster, ClusterGroup, ClusterLabel
from migrations_app.models.journey import Journey
from migrations_app.models.monitoring import Gauges
from migrations_app.models.policy import Policy, Waiver
from migrations_app.models.pull_request import PullRequest
from migrations_app.models.rollout import Lease, Rollout
from migrations_app.models.scan import FleetScan, FleetScanPart, KeptList, KeptObjects, LegacyDay, Scan, Snapshot
from migrations_app.models.scan_event import ScanEvent
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.joining import JoinLabel, join_preview
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.clusters.joining import WHOLE, join_registrations
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.actions.on_server import QUICK, installed
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_scan, a_snapshot

pytestmark = pytest.mark.django_db
UID = "uid-1"
BY_HAND = {"legacy_days", "campaign_parts", "labels", "groups", "FleetScanPart", "PullRequest"}
"""Relations that move in part, or by a use case of their own."""
ENDS = {"kept_objects", "kept_lists", "sample_twin", "agent", "policy", "Lease", "Gauges"}
"""Relations that end with the registration."""


@pytest.fixture
def shop():
    return registered("shop")


@pytest.fixture
def again():
    return registered("shop-again")


def registered(name, **columns) -> Cluster:
    row = a_cluster(name, kube_system_uid=UID, ca_digest="c", **columns)
    a_snapshot(row)
    return row


def joined(shop, again, **changed):
    told = {"seen": join_preview(shop.pk, again.pk).digest, "typed_name": again.name}
    return join_registrations(shop.pk, again.pk, **(told | changed))


def waived(cluster, check, **columns) -> Waiver:
    now = timezone.now()
    told = {"reason": "x", "owner_name": "x", "made_by_name": "x", "made_at": now, "ends_at": now + timedelta(days=9)}
    return Waiver.objects.create(check_id=check, cluster=cluster, **(told | columns))


def test_every_relation_of_a_cluster_is_decided_on():
    """A new table with a cluster fails here until somebody says what joining does with its rows."""
    moved = {table.model.__name__ for table in WHOLE}
    for one in Cluster._meta.related_objects:
        told = one.get_accessor_name() or one.related_model.__name__
        names = {told, one.related_model.__name__}
        assert isinstance(one, ManyToManyRel) or len([group for group in (moved, BY_HAND, ENDS) if names & group]) == 1
    assert not moved & (BY_HAND | ENDS)


def test_pull_requests_stay_open_and_no_fix_has_two(shop, again):
    def request(cluster, check, state):
        return PullRequest.objects.create(
            cluster=cluster, kind="github", address="https://github.com/x/x", check_id=check, hop="1.0", state=state,
            base="main", branch=f"karpdash/{check}", made_by_name="ada", made_at=timezone.now(), sealed=b"x",
        )  # fmt: skip

    here = request(shop, "webhook_on", "open")
    request(again, "webhook_on", "open")
    request(again, "crds_installed", "previewed")
    moved = [request(again, "crds_installed", "open"), request(again, "webhook_on", "merged")]
    joined(shop, again)
    assert set(PullRequest.objects.values_list("pk", "cluster")) == {(row.pk, shop.pk) for row in (here, *moved)}


def test_the_history_of_both_is_at_the_one_that_stays(shop, again):
    rows = [
        a_rollout(again, state="succeeded"),
        a_journey(again, state="succeeded"),
        a_scan(again, state="done"),
        waived(again, "crds_installed"),
        waived(again, "webhook_on", revoked_at=timezone.now()),
        ScanEvent.objects.create(seq=1, at=timezone.now(), cluster=again, scan_id=again.pk, state="done"),
        *Snapshot.objects.filter(cluster=again),
    ]
    old = a_campaign(again, state="succeeded")
    told = joined(shop, again)
    assert (told.snapshots, told.scans, told.rollouts, told.journeys, told.campaigns) == (1, 1, 1, 1, 1)
    assert (told.waivers, told.waivers_over) == (("crds_installed",), 1)
    for row in rows:
        row.refresh_from_db()
        assert row.cluster_id == shop.pk, row
    assert CampaignMember.objects.get(campaign=old).cluster_id == shop.pk
    assert list(Cluster.objects.all()) == [shop]
    assert Scan.objects.get(state="queued").requested_by == "join"


def test_what_moves_is_in_the_log_of_both_before_it_moves(shop, again):
    joined(shop, again)
    first, second = AuditEvent.objects.filter(verb__startswith="cluster.joined").order_by("seq")
    assert (first.verb, first.object, first.cluster_id) == ("cluster.joined", "shop", str(shop.pk))
    assert (str(again.pk) in first.detail, UID in first.detail, '"snapshots":1' in first.detail) == (True, True, True)
    assert (second.verb, second.object, second.cluster_id) == ("cluster.joined_into", "shop-again", str(again.pk))
    assert str(shop.pk) in second.detail


def test_groups_and_their_roles_count_for_the_one_that_stays(shop, again):
    eve = User.objects.create_user("eve")
    team, both = (ClusterGroup.objects.create(name=name) for name in ("team", "both"))
    both.clusters.add(shop, again)
    team.clusters.add(again)
    Grant.objects.create(person=eve, role="operator", over=team)
    told = joined(shop, again)
    assert (told.groups, told.roles) == (("team",), 1)
    assert set(shop.groups.all()) == {team, both}
    assert "operate" in rights_over(User.objects.get(pk=eve.pk), shop.pk)
    assert AuditEvent.objects.filter(verb="group.joined", object="team").exists()


def test_labels_move_unless_the_one_that_stays_has_another_value(shop, again):
    ClusterLabel.objects.create(cluster=shop, key="team", value="web")
    for key, value in (("team", "shop"), ("region", "eu")):
        ClusterLabel.objects.create(cluster=again, key=key, value=value)
    Cluster.objects.filter(pk=again.pk).update(environment="prod")
    assert joined(shop, again).labels == (
        JoinLabel(key="environment", value="prod"),
        JoinLabel(key="region", value="eu"),
        JoinLabel(key="team", value="shop", stays="web"),
    )
    shop.refresh_from_db()
    assert (shop.environment, dict(shop.labels.values_list("key", "value"))) == (
        "prod", {"team": "web", "region": "eu"},
    )  # fmt: skip


def test_a_row_that_the_one_that_stays_has_too_is_not_doubled(shop, again):
    fleet = FleetScan.objects.create()
    scans = [a_scan(row, state="done") for row in (shop, again)]
    for row, scan in zip((shop, again), scans, strict=True):
        FleetScanPart.objects.create(fleet_scan=fleet, cluster=row, scan=scan)
    for row, days in ((shop, (1, 2)), (again, (2, 3))):
        for day in days:
            LegacyDay.objects.create(cluster=row, day=date(2026, 1, day), nodes=row is again)
    old = a_campaign(shop, again, state="succeeded", size=2)
    joined(shop, again)
    told = LegacyDay.objects.order_by("day").values_list("day__day", "cluster", "nodes")
    assert list(told) == [(1, shop.pk, 0), (2, shop.pk, 0), (3, shop.pk, 1)]
    assert [one.cluster_id for one in FleetScanPart.objects.all()] == [shop.pk]
    assert list(CampaignMember.objects.filter(campaign=old).values_list("cluster", flat=True)) == [shop.pk, None]


def test_days_of_a_cluster_that_was_replaced_are_not_mixed_in(shop, again):
    Cluster.objects.filter(pk=again.pk).update(identity_since=timezone.now())
    LegacyDay.objects.create(cluster=again, day=timezone.now().date() - timedelta(days=3), nodes=9)
    joined(shop, again)
    assert not LegacyDay.objects.exists()


def test_what_is_bound_to_the_registration_ends_with_it(shop, again):
    Lease.objects.create(cluster=again, token=4)
    Gauges.objects.create(cluster=again)
    KeptObjects.objects.create(cluster=again, digest="x", sealed=b"x", changed_at=timezone.now())
    KeptList.objects.create(cluster=again, part="pods", sealed=b"x", changed_at=timezone.now())
    joined(shop, again)
    assert not any(table.objects.exists() for table in (Lease, Gauges, KeptObjects, KeptList))


def test_plans_of_the_one_that_ends_expire(shop, again):
    mine, theirs = (a_rollout(row, state="approved") for row in (shop, again))
    journey = a_journey(again, state="approved")
    assert joined(shop, again).plans_expire == 2
    states = [Rollout.objects.get(pk=row.pk).state for row in (mine, theirs)]
    assert (states, Journey.objects.get(pk=journey.pk).state) == (["approved", "expired"], "expired")


@pytest.mark.parametrize("held", ["shop", "again"])
@pytest.mark.parametrize(
    ("hold", "code"),
    [
        (lambda row: a_rollout(row, state="paused"), "rollout_holds"),
        (lambda row: a_rollout(row, state="needs_attention"), "rollout_holds"),
        (lambda row: a_rollout(row, state="rolling_back"), "rollout_holds"),
        (lambda row: a_journey(row, state="paused"), "journey_holds"),
        (lambda row: CampaignMember.objects.filter(campaign=a_campaign(row)).update(claims=True), "campaign_holds"),
        (lambda row: a_scan(row, state="queued"), "scan_active"),
        (lambda row: a_scan(row, state="running"), "scan_active"),
        (lambda row: Cluster.objects.filter(pk=row.pk).update(other_uid="uid-2"), "not_same_cluster"),
        (lambda row: Cluster.objects.filter(pk=row.pk).update(identity_error="forbidden"), "not_same_cluster"),
        (lambda row: Cluster.objects.filter(pk=row.pk).update(kube_system_uid=""), "not_same_cluster"),
        (lambda row: Cluster.objects.filter(pk=row.pk).update(source="bundle"), "not_same_cluster"),
        (lambda row: Policy.objects.create(cluster=row, frozen=True), "policies_differ"),
    ],
)
def test_not_while_something_of_either_is_under_way_or_in_doubt(shop, again, held, hold, code):
    row = {"shop": shop, "again": again}[held]
    hold(row)
    preview = join_preview(shop.pk, again.pk)
    assert [one.code for one in preview.obstacles] == [code]
    assert preview.obstacles[0].words
    with pytest.raises(Conflict) as told:
        joined(shop, again)
    assert told.value.code == code
    assert Cluster.objects.count() == 2
    assert not AuditEvent.objects.filter(verb__startswith="cluster.joined").exists()


def test_the_one_that_stays_can_be_read(shop, again):
    Cluster.objects.filter(pk=shop.pk).update(failures=1)
    assert [one.code for one in join_preview(shop.pk, again.pk).obstacles] == ["not_read"]
    assert join_preview(again.pk, shop.pk).obstacles == ()


def test_the_same_policy_in_two_rows_is_no_difference(shop, again):
    Policy.objects.create(cluster=shop, version=7)
    Policy.objects.create(cluster=again, version=2)
    joined(shop, again)
    assert Policy.objects.get().cluster_id == shop.pk


def test_no_more_labels_than_a_cluster_has(shop, again):
    for row, first in ((shop, 0), (again, 20)):
        ClusterLabel.objects.bulk_create(ClusterLabel(cluster=row, key=f"k{first + n}", value="x") for n in range(20))
    assert [one.code for one in join_preview(shop.pk, again.pk).obstacles] == ["too_many"]


def test_what_was_not_seen_is_not_joined(shop, again):
    seen = join_preview(shop.pk, again.pk).digest
    a_scan(again, state="done")
    assert join_preview(shop.pk, again.pk).digest == seen  # a scan that ended makes no other decision
    ClusterGroup.objects.create(name="team").clusters.add(again)
    with pytest.raises(Conflict) as told:
        joined(shop, again, seen=seen)
    assert told.value.code == "digest_moved"
    with pytest.raises(InvalidInput) as wrong:
        joined(shop, again, typed_name="shop")
    assert (wrong.value.code, Cluster.objects.count()) == ("name_not_typed", 2)


def test_one_alone_is_not_joined(shop):
    with pytest.raises(InvalidInput):
        join_preview(shop.pk, shop.pk)
    with pytest.raises(NotFound):
        join_registrations(shop.pk, uuid.UUID(int=5), seen="", typed_name="")


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_two_registrations_of_a_real_server_become_one(clean_apiserver, settings):
    settings.ENV = dataclasses.replace(settings.ENV, **QUICK)
    installed(clean_apiserver, "0.32.10")
    text = clean_apiserver.kubeconfig(clean_apiserver.admin_token).encode()
    first, second = (register_kubeconfig(text, Details(name=name, by="ada")) for name in ("shop", "again"))
    for cluster in (first, second):
        scan_claimed(queue.claim(queue.request_scan(cluster).scan_id))
    told = join_registrations(first, second, seen=join_preview(first, second).digest, typed_name="again")
    assert (told.same_ca, told.snapshots) == (True, 1)
    scan_claimed(queue.claim(Scan.objects.get(state="queued").pk))
    assert [row.cluster_id for row in Snapshot.objects.all()] == [first] * 3
    assert (registrations_of(first), Cluster.objects.get().failures) == ((first,), 0)
