"""One wish to scan every cluster, and which scans came of it."""

import uuid

from django.db import models
from django.db.models import Q


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
