"""What was seen and how it was judged at one moment; never edited."""

import uuid
import zlib

import msgspec
from django.db import models

from migrations_app.readiness.report import IamSheet, OwnedNode, Report


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
