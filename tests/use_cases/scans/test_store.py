"""A snapshot is published whole or not at all, and costs little when nothing changed."""

import dataclasses
import uuid
from datetime import timedelta

import msgspec
import pytest
from django.db import DatabaseError
from django.utils import timezone

from migrations_app.checks.base import Evidence, Finding
from migrations_app.errors import Conflict, NotFound
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, FindingRow, KeptList, KeptObjects, Scan, Snapshot
from migrations_app.queries.clusters.reports import newest_sheet, sheet_of
from migrations_app.readiness import report as r
from migrations_app.use_cases.scans import queue, store
from tests.builders.sheet import EVERYTHING, a_controller_role, a_sheet, text_of

pytestmark = pytest.mark.django_db


def finding(check_id="provisioners_gone", status="fail", hop="0.33+"):
    row = Evidence(kind="Provisioner", name="default", path="metadata.name")
    return Finding(
        id=check_id, hop=hop, phase="resources", title="t", status=status, severity="blocker", why="w",
        summary="1 Provisioner still exists", evidence_total=1, evidence=(row,),
    )  # fmt: skip


def scanned(*, at="2026-11-21T10:00:00Z", seconds=0.5, findings=None, legacy=None, objects=(), iam=None):
    window = r.KubernetesWindow("1.23", "1.28")
    counts = r.Counts(fail=1)
    return r.ScanResult(
        report=r.Report(
            cluster=r.ClusterFacts(name="c", kubernetes_version="v1.27.1", karpenter_version="0.32.1", stage="mixed"),
            scanned_at=at,
            complete=True,
            parts=(r.PartLine(name="pods", seen=True, count=4, seconds=seconds),),
            target=r.Target("1.0.14", (r.ReportHop(name="0.33+", release="0.37.8", kubernetes=window),)),
            hops=(r.HopLine(hop="0.33+", verdict="blocked", done_percent=0, counts=counts),),
            checks=(finding(),) if findings is None else findings,
            nodes=r.NodeCounts(1, {"karpenter_alpha": 1}),
            legacy={"Provisioner": 1, "Machine": 2} if legacy is None else legacy,
        ),
        nodes=(OwnedNode(name="n1", owner="karpenter_alpha"),),
        objects=objects,
        iam=iam,
    )


@pytest.fixture
def cluster():
    return Cluster.objects.create(name="c1", source="sample")


@pytest.fixture
def sealing(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


def publish(cluster, what):
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    return store.publish(held.scan_id, fence=held.fence, scanned=what)


def test_a_snapshot_gives_back_what_was_scanned(cluster):
    what = scanned()
    snapshot = Snapshot.objects.get(pk=publish(cluster, what).pk)
    assert snapshot.report() == what.report
    assert snapshot.nodes() == what.nodes
    assert (snapshot.stage, snapshot.next_hop, snapshot.verdict, snapshot.blockers) == ("mixed", "0.33+", "blocked", 1)
    assert snapshot.legacy_left == 3
    cluster.refresh_from_db()
    assert cluster.latest_id == snapshot.pk
    assert Scan.objects.get().state == "done"


def test_legacy_is_unknown_as_soon_as_one_kind_is(cluster):
    assert publish(cluster, scanned(legacy={"Provisioner": 1, "Machine": None})).legacy_left is None


def test_an_unchanged_snapshot_shares_its_content(cluster):
    first = publish(cluster, scanned())
    second = publish(cluster, scanned(at="2026-11-21T11:00:00Z", seconds=9.0))
    assert first.content_id == second.content_id
    assert (Content.objects.count(), FindingRow.objects.count()) == (1, 1)
    assert second.report().scanned_at == "2026-11-21T11:00:00Z"
    assert second.report().parts[0].seconds == 9.0
    publish(cluster, scanned(findings=(finding(status="pass"),)))
    assert Content.objects.count() == 2


def test_an_unchanged_snapshot_costs_at_most_two_kilobytes(cluster):
    publish(cluster, scanned())
    again = Snapshot.objects.filter(pk=publish(cluster, scanned(at="2026-11-21T11:00:00Z")).pk).values().get()
    own = sum(len(value if isinstance(value, bytes) else str(value)) for value in again.values())
    assert 0 < own < 2000


POOLS = tuple(
    {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": f"p{i}"}, "spec": {"weight": i}}
    for i in range(50)
)


def test_the_objects_of_the_newest_snapshot_are_kept(cluster, sealing):
    publish(cluster, scanned(objects=POOLS))
    publish(cluster, scanned(objects=POOLS[1:]))
    assert store.kept_objects(cluster.pk) == POOLS[1:]


def test_unchanged_objects_cost_an_unchanged_snapshot_nothing(cluster, sealing):
    publish(cluster, scanned(objects=POOLS))
    first = KeptObjects.objects.values().get()
    publish(cluster, scanned(at="2026-11-21T11:00:00Z", objects=POOLS))
    assert KeptObjects.objects.values().get() == first
    assert Content.objects.count() == 1


def test_objects_are_no_part_of_the_report(cluster, sealing):
    snapshot = publish(cluster, scanned(objects=POOLS))
    assert publish(cluster, scanned()).content_id == snapshot.content_id
    assert b"weight" not in msgspec.json.encode(snapshot.report())


def test_a_worker_that_lost_its_scan_publishes_nothing(cluster, sealing):  # R03
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    Scan.objects.update(fence=held.fence + 1)
    beside = store.ScanExtras(lists={"pods": b"sealed"})
    with pytest.raises(Conflict):
        store.publish(held.scan_id, fence=held.fence, scanned=scanned(objects=POOLS), extras=beside)
    assert not any(table.objects.exists() for table in (Snapshot, Content, KeptObjects, KeptList))
    Scan.objects.update(fence=held.fence)
    store.publish(held.scan_id, fence=held.fence, scanned=scanned(objects=POOLS), extras=beside)
    assert all(table.objects.exists() for table in (Snapshot, Content, KeptObjects, KeptList))


def test_a_failure_in_the_middle_leaves_nothing_behind(cluster, monkeypatch, sealing):  # R01
    def broken(*_args, **_kwargs):
        raise DatabaseError("disk full")

    monkeypatch.setattr(store, "_note_success", broken)
    with pytest.raises(DatabaseError):
        publish(cluster, scanned(objects=POOLS))
    assert (Snapshot.objects.count(), Content.objects.count(), FindingRow.objects.count()) == (0, 0, 0)
    assert KeptObjects.objects.count() == 0
    assert Scan.objects.get().state == "running"


def test_a_failed_scan_keeps_the_old_snapshot_with_its_age(cluster):
    old = publish(cluster, scanned())
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    store.fail(held.scan_id, fence=held.fence, code="unreachable", detail="no route")
    cluster.refresh_from_db()
    assert (cluster.latest_id, cluster.failures, cluster.last_error_code) == (old.pk, 1, "unreachable")
    assert cluster.failing_since is not None
    publish(cluster, scanned())
    cluster.refresh_from_db()
    assert (cluster.failures, cluster.failing_since, cluster.last_error_code) == (0, None, "")


def test_large_reports_are_stored_compressed(cluster):
    many = tuple(msgspec.structs.replace(finding(), id=f"c{i}", summary="same words " * 20) for i in range(200))
    content = publish(cluster, scanned(findings=many)).content
    assert len(content.report) * 10 < len(msgspec.json.encode(many))


def test_a_server_with_an_endless_name_is_still_stored(cluster):  # T07
    what = scanned()
    named = msgspec.structs.replace(what.report.cluster, kubernetes_version="v1.27." + "9" * 500)
    snapshot = publish(
        cluster, msgspec.structs.replace(what, report=msgspec.structs.replace(what.report, cluster=named))
    )
    assert len(Snapshot.objects.get(pk=snapshot.pk).kubernetes_version) == store.LONGEST_VERSION


@pytest.mark.parametrize(("failures", "minutes"), [(1, 1), (2, 2), (4, 8), (7, 60), (500, 60)])
def test_pauses_grow_up_to_an_hour(failures, minutes):  # R11
    assert store.retry_delay(failures) == timedelta(minutes=minutes)


def test_a_failed_scan_is_tried_again_before_the_whole_interval_is_over(cluster):  # R11
    Cluster.objects.update(next_due_at=timezone.now() + timedelta(days=1))
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    store.fail(held.scan_id, fence=held.fence, code="timeout", detail="")
    cluster.refresh_from_db()
    assert cluster.next_due_at - timezone.now() < timedelta(minutes=2)


def test_the_sheet_of_permissions_is_part_of_the_content(cluster):
    sheet = a_sheet(a_controller_role(text_of(EVERYTHING)))
    first = publish(cluster, scanned(iam=sheet))
    assert newest_sheet(cluster.pk) == (first.pk, first.scanned_at, sheet)
    again = publish(cluster, scanned(iam=sheet, at="2026-11-21T11:00:00Z"))
    assert again.content_id == first.content_id
    other = publish(cluster, scanned(iam=a_sheet(a_controller_role(text_of()))))
    assert other.content_id != first.content_id
    assert sheet_of(first.pk) == sheet


def test_a_snapshot_without_a_sheet(cluster):
    snapshot = publish(cluster, scanned())
    assert sheet_of(snapshot.pk) is None
    for ask in (lambda: newest_sheet(cluster.pk), lambda: newest_sheet(uuid.uuid4()), lambda: sheet_of(uuid.uuid4())):
        with pytest.raises(NotFound):
            ask()
