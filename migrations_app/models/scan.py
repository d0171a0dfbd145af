"""One attempt to look at a cluster."""

import uuid

from django.db import models
from django.db.models import Q


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
