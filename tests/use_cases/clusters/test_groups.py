"""Groups: made, changed, filled and removed; what hangs on them follows, and all of it is told."""

import dataclasses
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.policy import Waiver
from migrations_app.queries.fleet.scan_interval import interval_of
from migrations_app.queries.fleet.waivers import active_waivers_of_cluster, waiver_of, waivers_by_cluster
from migrations_app.use_cases.clusters import groups
from migrations_app.use_cases.scans import queue, waivers
from tests.builders.rows import a_cluster
from tests.use_cases.people import ADMINISTER, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def house(settings):
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=3600)


def test_a_group_from_its_beginning_to_its_end():
    shop, other = a_cluster("shop"), a_cluster("other")
    made = groups.create_group(" team shop ", interval=600)
    assert groups.add_to_group(made, [shop.pk, other.pk]) == 2
    assert (groups.add_to_group(made, [shop.pk]), groups.remove_from_group(made, [other.pk])) == (0, 1)
    row = ClusterGroup.objects.get()
    assert (row.name, list(row.clusters.all()), row.version, row.created_by) == ("team shop", [shop], 3, "karpdash")
    groups.change_group(made, name="shop", interval=None, version=3)
    groups.remove_group(made, version=4)
    assert (ClusterGroup.objects.count(), Cluster.objects.count()) == (0, 2)
    verbs = list(AuditEvent.objects.order_by("seq").values_list("verb", flat=True))
    assert verbs == ["group.made", "group.joined", "group.left", "group.changed", "group.removed"]
    assert '"clusters":["other","shop"]' in AuditEvent.objects.get(verb="group.joined").detail


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\nb"])
def test_what_is_no_name(name):
    with pytest.raises(InvalidInput):
        groups.create_group(name)


@pytest.mark.parametrize("interval", [0, 59, 604_801])
def test_what_is_no_interval(interval):
    with pytest.raises(InvalidInput):
        groups.create_group("a", interval=interval)


def test_a_name_is_taken_once():
    first, second = groups.create_group("a"), groups.create_group("b")
    for attempt in (lambda: groups.create_group("a"), lambda: rename(second, "a")):
        with pytest.raises(Conflict) as refused:
            attempt()
        assert refused.value.code == "name_taken"
    assert {row.pk: row.name for row in ClusterGroup.objects.all()} == {first: "a", second: "b"}


def rename(group, name, version=1):
    groups.change_group(group, name=name, interval=None, version=version)


def test_a_change_that_somebody_else_made_is_not_overwritten():
    made = groups.create_group("a")
    rename(made, "b")
    for attempt in (lambda: rename(made, "c"), lambda: groups.remove_group(made, version=1)):
        with pytest.raises(Conflict) as refused:
            attempt()
        assert refused.value.code == "stale"
    assert ClusterGroup.objects.get().name == "b"


def test_what_is_not_there():
    made, shop = groups.create_group("a"), a_cluster()
    with pytest.raises(NotFound):
        groups.add_to_group(uuid.uuid4(), [shop.pk])
    with pytest.raises(NotFound):
        groups.add_to_group(made, [shop.pk, uuid.uuid4()])
    assert ClusterGroup.objects.get().clusters.count() == 0


def test_the_next_scan_follows_the_interval_of_the_group():
    now = timezone.now()
    shop = a_cluster("shop", next_due_at=now + timedelta(seconds=3600))
    own = a_cluster("own", next_due_at=now, interval_seconds=900)
    group = groups.create_group("a", interval=60)
    groups.add_to_group(group, [shop.pk, own.pk])
    shop.refresh_from_db()
    assert (interval_of(shop), interval_of(own), shop.next_due_at - now < timedelta(seconds=120)) == (60, 900, True)
    assert Cluster.objects.get(pk=own.pk).next_due_at == now
    groups.remove_group(group)
    shop.refresh_from_db()
    assert (interval_of(shop), shop.next_due_at - now > timedelta(seconds=1000)) == (3600, True)


def test_a_group_alone_puts_its_clusters_on_the_timetable(settings, django_assert_num_queries):
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=0)
    shop = a_cluster("shop")
    a_cluster("other")
    for name in ("a", "b"):
        groups.add_to_group(groups.create_group(name, interval=600), [shop.pk])
    assert len(queue.due_scans()) == 1
    assert [row.scans.count() for row in Cluster.objects.order_by("name")] == [0, 1]


def test_a_waiver_of_a_removed_group_never_becomes_one_of_all():
    shop, gil = a_cluster(), person(user("gil", ADMINISTER))
    group = groups.create_group("a")
    groups.add_to_group(group, [shop.pk])
    made = waivers.waive(a_wish(group=group), gil, now=timezone.now())
    assert len(active_waivers_of_cluster(shop.pk, timezone.now())) == 1
    groups.remove_group(group)
    row = waiver_of(made, now=timezone.now())
    assert (row.state, row.group, row.group_name, row.cluster) == ("revoked", None, "a", None)
    Waiver.objects.update(revoked_at=None)
    assert (active_waivers_of_cluster(shop.pk, timezone.now()), waivers_by_cluster(timezone.now())) == ((), {})
