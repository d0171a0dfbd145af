"""Scans of clusters and of the whole fleet, and their results: snapshots, stored objects, daily legacy counts.

Snapshots are never edited, except for the counts that depend on waivers.
"""

import lzma
import uuid
import zlib

import msgspec
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from migrations_app.readiness.report import IamSheet, OwnedNode, Report
from migrations_app.readiness.stored_report import (
    Answers,
    SplitReport,
    answers_from,
    answers_of,
    read_report,
    whole_report,
)


class FleetScan(models.Model):
    """A scan of the whole fleet. `begun_at` is null until all its scans are enqueued; only one is `open` at a time."""

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
    """One cluster's scan within a fleet scan; a scan that was already active counts as well."""

    fleet_scan = models.ForeignKey(FleetScan, on_delete=models.CASCADE, related_name="parts")
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="+")
    scan = models.ForeignKey("migrations_app.Scan", on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["fleet_scan", "cluster"], name="one_part_a_cluster")]


class KeptObjects(models.Model):
    """Karpenter objects of the newest snapshot, encrypted for the cluster's id, since user data may hold secrets.

    Only written again if `digest`, of the objects and the encryption key, changes.
    """

    cluster = models.OneToOneField(
        "migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True, related_name="kept_objects"
    )
    digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
    changed_at = models.DateTimeField()


class KeptList(models.Model):
    """A part that the newest scan computed from a long list, and the version of that list, encrypted for the cluster's
    id. The next scan uses the part again if the server proves that the list has not changed.
    """

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="kept_lists")
    part = models.CharField(max_length=40)
    sealed = models.BinaryField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "part"), name="one_kept_list_a_part"),)


class LegacyDay(models.Model):
    """The remaining work after a cluster's last scan of a day (UTC), and the total of each measure.

    Null if it was not read. The columns from `stored_versions` on are null in days that the previous release wrote
    (R27).
    """

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="legacy_days")
    day = models.DateField(db_index=True)
    provisioners = models.PositiveIntegerField(null=True)
    templates = models.PositiveIntegerField(null=True)
    machines = models.PositiveIntegerField(null=True)
    nodes = models.PositiveIntegerField(null=True)
    stored_versions = models.PositiveIntegerField(null=True)
    claims = models.PositiveIntegerField(null=True)
    objects_total = models.PositiveIntegerField(null=True)
    nodes_total = models.PositiveIntegerField(null=True)
    stored_versions_total = models.PositiveIntegerField(null=True)
    claims_total = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "day"), name="one_legacy_day"),)


class Scan(models.Model):
    """One scan. Its state is here, never in the broker. `fence` is a fencing token: it grows with every claim."""

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
    """When it was due by schedule; null if a person requested it."""
    probed_at = models.DateTimeField(null=True)
    """When the probe passed; null before, and if none is needed."""
    progress = models.JSONField(default=dict)
    calls = models.JSONField(null=True)
    """Requests to the cluster's API server, as "verb code" to count.

    Null for unknown: workers of the previous release do not write it (R27).
    """
    error_code = models.CharField(max_length=60, blank=True, default="")
    error_detail = models.CharField(max_length=2000, blank=True, default="")
    snapshot = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    only_check = models.CharField(max_length=80, blank=True, default="", db_default="")
    """The single check to run, whose answer ends the scan while it is as open as before; empty if the whole cluster is
    read. A done scan with this value has no snapshot, unless a worker of the previous release ran it.
    """
    check_answer = models.JSONField(null=True)
    """The answer of that check; kept if the whole cluster was read afterwards."""

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state__in=("queued", "running")), name="one_active_scan_per_cluster"
            )
        ]
        indexes = [models.Index(fields=["state", "lease_until"])]


class ContentPart(models.Model):
    """A part that packed contents share, stored once per digest and compressed: texts or statuses of findings, or an
    IAM sheet.
    """

    digest = models.CharField(max_length=64, unique=True)
    body = models.BinaryField()
    unused_since = models.DateTimeField(null=True)
    """Since when no content uses it; it is deleted some time later."""

    @cached_property
    def plain(self) -> bytes:
        return lzma.decompress(bytes(self.body))


class Content(models.Model):
    """Report, nodes and IAM sheet of one or more snapshots, stored once per digest: an unchanged scan costs one row.

    `iam` is empty without a sheet. The content of a newest snapshot has its findings as rows; a content of history is
    packed, to a tenth of the size (decision 0016). In a packed content, `report` has no texts, which are in `texts`,
    and the sheet is in `sheet` instead of `iam`. The methods return the same values for both forms.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    report = models.BinaryField()
    nodes = models.BinaryField()
    iam = models.BinaryField(default=b"")
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)
    """Since when no snapshot uses it; from then on its findings are deleted in batches."""
    history_since = models.DateTimeField(null=True)
    """Since when it is in no newest snapshot; later its findings are deleted in batches, and it is packed."""
    texts = models.ForeignKey(ContentPart, null=True, on_delete=models.PROTECT, related_name="+")
    """Set if it is packed."""
    statuses = models.ForeignKey(ContentPart, null=True, on_delete=models.PROTECT, related_name="+")
    """Set if it is packed: the value of `answers`."""
    sheet = models.ForeignKey(ContentPart, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["history_since"], condition=Q(texts=None), name="content_not_packed")]

    def plain_report(self) -> bytes:
        """The report as JSON."""
        if self.texts is None:
            return zlib.decompress(self.report)
        return whole_report(SplitReport(lzma.decompress(bytes(self.report)), self.texts.plain))

    def plain_iam(self) -> bytes:
        """The IAM sheet as JSON; empty if there is none."""
        if self.sheet is not None:
            return self.sheet.plain
        return zlib.decompress(self.iam) if self.iam else b""

    def answers(self) -> Answers:
        """The status of each finding, before waivers."""
        if self.statuses is None:
            return answers_of(self.plain_report())
        return answers_from(self.statuses.plain)


class Snapshot(models.Model):
    """The result of a scan, complete or partial. Values that lists sort and filter by are repeated in columns."""

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
    """The waivers that were applied to the counts; null or empty for none."""
    replaced = models.BooleanField(default=False, db_default=False)
    """Whether it is of the former cluster of this registration, before a person accepted another one."""
    unchanged = models.JSONField(null=True)
    """By part: since when its objects are unchanged, as this scan proved; null or empty for none."""

    class Meta:
        ordering = ["-scanned_at"]
        indexes = [models.Index(fields=["cluster", "-scanned_at"])]

    def report(self) -> Report:
        """The report with this snapshot's own times."""
        stored = read_report(self.content.plain_report())
        seconds = msgspec.json.decode(self.parts or b"{}", type=dict[str, float])
        same: dict[str, str] = self.unchanged or {}
        parts = tuple(
            msgspec.structs.replace(line, seconds=seconds.get(line.name, 0.0), unchanged_since=same.get(line.name, ""))
            for line in stored.parts
        )
        moment = self.scanned_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return msgspec.structs.replace(stored, scanned_at=moment, parts=parts)

    def nodes(self) -> tuple[OwnedNode, ...]:
        return msgspec.json.decode(zlib.decompress(self.content.nodes), type=tuple[OwnedNode, ...])

    def iam_sheet(self) -> IamSheet | None:
        """The IAM sheet; None for a cluster without Karpenter and for snapshots older than the sheet."""
        plain = self.content.plain_iam()
        return msgspec.json.decode(plain, type=IamSheet) if plain else None


class FindingRow(models.Model):
    """One finding of a content, for queries across the fleet; evidence and remedies are only in the report.

    Only contents of newest snapshots have all their rows.
    """

    content = models.ForeignKey(Content, on_delete=models.CASCADE, related_name="findings")
    check_id = models.CharField(max_length=80)
    hop = models.CharField(max_length=10)
    phase = models.CharField(max_length=20)
    status = models.CharField(max_length=20)
    severity = models.CharField(max_length=10)
    summary = models.CharField(max_length=500)
    evidence_total = models.PositiveIntegerField(default=0)
    evidence_exact = models.BooleanField(null=True)
    """Whether `evidence_total` is exact, not a lower bound; null if written by an older release."""

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["check_id", "status"])]
        constraints = [models.UniqueConstraint(fields=["content", "check_id", "hop"], name="one_finding_per_hop")]
