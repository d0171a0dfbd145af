"""Rehearsals of plans on a twin, and observations of rollouts to compare them with."""

import uuid

from django.db import models
from django.db.models import Q


class Rehearsal(models.Model):
    """One rehearsal of one plan, by its digest. `fence` is a fencing token: it grows with every claim."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    rollout = models.ForeignKey("migrations_app.Rollout", on_delete=models.CASCADE, related_name="rehearsals")
    digest = models.CharField(max_length=64)
    """The digest of the rehearsed plan."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    seed = models.PositiveIntegerField(default=0)
    failures = models.JSONField(default=list)
    """The failures of further plays: lists of scenario and zone."""
    requested_by = models.CharField(max_length=150)
    made_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    result = models.BinaryField(default=bytes)
    """The plays as JSON of limited size; empty before the end."""
    error_code = models.CharField(max_length=60, blank=True, default="")
    error = models.CharField(max_length=2000, blank=True, default="")

    class Meta:
        ordering = ["-made_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["rollout"], condition=Q(state__in=("queued", "running")), name="one_active_rehearsal_a_plan"
            )
        ]
        indexes = [models.Index(fields=["state", "lease_until"])]


class RunRecord(models.Model):
    """What the gates of a rollout observed, and how that differs from the rehearsal of its plan."""

    rollout = models.OneToOneField(
        "migrations_app.Rollout", on_delete=models.CASCADE, primary_key=True, related_name="run_record"
    )
    seen = models.JSONField(default=dict)
    rehearsal = models.ForeignKey(Rehearsal, null=True, on_delete=models.SET_NULL, related_name="+")
    difference = models.JSONField(null=True)
    """The comparison; null before the end of the rollout, and without a rehearsal."""
    compared_at = models.DateTimeField(null=True)
