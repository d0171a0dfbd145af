"""One wish to scan every cluster, and which scans came of it.

The objects of a cluster that a conversion takes.

What is left of the older generation, day by day.

One attempt to look at a cluster.

What was seen and how it was judged at one moment; never edited.
"""

import uuid
import zlib

import msgspec
from django.db import models
from django.db.models import Q

from migrations_app.readiness.report import IamSheet, OwnedNode, Report


class FleetScan(models.Model):
    """`begun_at` is null until each cluster has its scan; `open` ends with the last of them. One is open at a time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    requested_by = models.CharField(max_length=150, blank=True, default="")
    total = models.PositiveIntegerField(default=0)
    open = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["open"], condition=Q(open=True), name="one_open_fleet_scan")]


class FleetScanPart(models.Model):
    """The scan of one cluster in it; a scan that was under way already counts as well."""

    fleet_scan = models.ForeignKey(FleetScan, on_delete=models.CASCADE, related_name="parts")
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="+")
    scan = models.ForeignKey("migrations_app.Scan", on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["fleet_scan", "cluster"], name="one_part_a_cluster")]


class KeptObjects(models.Model):
    """As the newest snapshot saw them. `sealed` is encrypted under the cluster's id, for user data may hold secrets;
    the row is written again only when `digest`, of the objects and the sealing key, has changed."""

    cluster = models.OneToOneField(
        "migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True, related_name="kept_objects"
    )
    digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
    changed_at = models.DateTimeField()


class LegacyDay(models.Model):
    """The last scan of a cluster on a day, in UTC. A count is null where that scan could not read the kind."""

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="legacy_days")
    day = models.DateField(db_index=True)
    provisioners = models.PositiveIntegerField(null=True)
    templates = models.PositiveIntegerField(null=True)
    machines = models.PositiveIntegerField(null=True)
    nodes = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "day"), name="one_legacy_day"),)


class Scan(models.Model):
    """Its state lives here, never in the broker. `fence` grows with every claim; writes name the fence they hold."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="scans")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    requested_by = models.CharField(max_length=150, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    """The moment it was due by the timetable; null for one that somebody asked for."""
    probed_at = models.DateTimeField(null=True)
    """When the short look found that the cluster answers; null before it, and for what needs none."""
    progress = models.JSONField(default=dict)
    calls = models.JSONField(null=True)
    """Requests to the cluster's API server, as "verb code" -> count. Null for not known: a worker of the release before
    adds scans without it (R27)."""
    error_code = models.CharField(max_length=60, blank=True, default="")
    error_detail = models.CharField(max_length=2000, blank=True, default="")
    snapshot = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state__in=("queued", "running")), name="one_active_scan_per_cluster"
            )
        ]
        indexes = [models.Index(fields=["state", "lease_until"])]


class Content(models.Model):
    """The report, node rows and sheet of permissions of one or many snapshots, stored once per digest: an unchanged
    scan costs a row. `iam` is empty where there is no sheet."""

    digest = models.CharField(primary_key=True, max_length=64)
    report = models.BinaryField()
    nodes = models.BinaryField()
    iam = models.BinaryField(default=b"")
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)
    """When no snapshot named it any more: from then on its findings are taken away, a few at a time."""


class Snapshot(models.Model):
    """Complete, or marked as partial; the columns repeat what lists are sorted and filtered by."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="snapshots")
    content = models.ForeignKey(Content, on_delete=models.PROTECT, related_name="snapshots")
    scanned_at = models.DateTimeField()
    parts = models.BinaryField(default=b"")
    complete = models.BooleanField()
    stage = models.CharField(max_length=20)
    karpenter_version = models.CharField(max_length=40, blank=True, default="")
    kubernetes_version = models.CharField(max_length=40, blank=True, default="")
    next_hop = models.CharField(max_length=10, blank=True, default="")
    verdict = models.CharField(max_length=30, blank=True, default="")
    blockers = models.PositiveIntegerField(default=0)
    warnings = models.PositiveIntegerField(default=0)
    unknowns = models.PositiveIntegerField(default=0)
    legacy_left = models.PositiveIntegerField(null=True)
    nodes_total = models.PositiveIntegerField(default=0)
    waived = models.JSONField(null=True)
    """The waivers that the numbers were counted with; null or empty: none."""

    class Meta:
        ordering = ["-scanned_at"]
        indexes = [models.Index(fields=["cluster", "-scanned_at"])]

    def report(self) -> Report:
        """The report, with this snapshot's own times put back."""
        stored = msgspec.json.decode(zlib.decompress(self.content.report), type=Report)
        seconds = msgspec.json.decode(self.parts or b"{}", type=dict[str, float])
        parts = tuple(msgspec.structs.replace(line, seconds=seconds.get(line.name, 0.0)) for line in stored.parts)
        moment = self.scanned_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return msgspec.structs.replace(stored, scanned_at=moment, parts=parts)

    def nodes(self) -> tuple[OwnedNode, ...]:
        return msgspec.json.decode(zlib.decompress(self.content.nodes), type=tuple[OwnedNode, ...])

    def iam_sheet(self) -> IamSheet | None:
        """The sheet of permissions; None for a cluster without Karpenter, and for snapshots older than the sheet."""
        packed = bytes(self.content.iam)
        return msgspec.json.decode(zlib.decompress(packed), type=IamSheet) if packed else None


class FindingRow(models.Model):
    """One finding of a content, for questions across the fleet; evidence and remedies stay in the report."""

    content = models.ForeignKey(Content, on_delete=models.CASCADE, related_name="findings")
    check_id = models.CharField(max_length=80)
    hop = models.CharField(max_length=10)
    phase = models.CharField(max_length=20)
    status = models.CharField(max_length=20)
    severity = models.CharField(max_length=10)
    summary = models.CharField(max_length=500)
    evidence_total = models.PositiveIntegerField(default=0)
    evidence_exact = models.BooleanField(null=True)
    """Whether `evidence_total` is all there is, not a lower bound; null: written by an older release."""

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["check_id", "status"])]
        constraints = [models.UniqueConstraint(fields=["content", "check_id", "hop"], name="one_finding_per_hop")]
