"""What is allowed: policies, the kill switch, and waivers of failing checks."""

import uuid

from django.db import models

ASKED = {"low": 0, "medium": 1, "high": 1, "destructive": 2}


def _asked() -> dict[str, int]:
    return dict(ASKED)


def _every() -> list[str]:
    return ["*"]


class Policy(models.Model):
    """The policy of one cluster; the row without a cluster applies to all clusters without their own.

    `windows` are lists of {"days": [0..6], "from": "HH:MM", "to": "HH:MM"} in UTC; without windows changes are allowed
    at any time.
    """

    cluster = models.OneToOneField("migrations_app.Cluster", null=True, on_delete=models.CASCADE, related_name="policy")
    version = models.PositiveIntegerField(default=1)
    approvals = models.JSONField(default=_asked)
    actions = models.JSONField(default=_every)
    windows = models.JSONField(default=list)
    frozen = models.BooleanField(default=False)
    frozen_why = models.CharField(max_length=500, blank=True, default="")
    batch = models.PositiveIntegerField(default=1)
    per_hour = models.PositiveIntegerField(default=60)
    pool_percent = models.PositiveIntegerField(default=10)
    rehearsals = models.JSONField(null=True)
    """Risks whose plans need a rehearsal; null or empty for none."""
    campaigns_destroy = models.BooleanField(default=False, db_default=False)
    """Whether the approval of a campaign may cover plans that delete the objects of its preview."""

    class Meta:
        permissions = [("administer_policy", "Can change policies and the kill switch")]


class KillSwitch(models.Model):
    """One row. While `on`, no request that changes a cluster is sent. Two people turn it off."""

    on = models.BooleanField(default=False)
    why = models.CharField(max_length=500, blank=True, default="")
    by_name = models.CharField(max_length=150, blank=True, default="")
    since = models.DateTimeField(null=True)
    lifting_by = models.CharField(max_length=150, blank=True, default="")
    lifting_id = models.PositiveBigIntegerField(null=True)
    """The person who requested to turn it off; another person has to confirm (A36)."""
    version = models.PositiveIntegerField(default=1)


class Waiver(models.Model):
    """An accepted failing check.

    Without a cluster it applies to the group in `scope`, or without a group to all clusters; without a hop, to every
    hop. Never edited or deleted: it ends or is revoked. `blockers` if its author may accept blockers; else it covers
    warnings only.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    check_id = models.CharField(max_length=80)
    hop = models.CharField(max_length=20, blank=True, default="", db_default="")
    cluster = models.ForeignKey("migrations_app.Cluster", null=True, on_delete=models.CASCADE, related_name="waivers")
    reason = models.CharField(max_length=500)
    owner_name = models.CharField(max_length=150)
    blockers = models.BooleanField(default=False)
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    revoked_by_name = models.CharField(max_length=150, blank=True, default="")
    revoked_at = models.DateTimeField(null=True)
    ended_told_at = models.DateTimeField(null=True)
    """When its end was recorded; null while it is active, and if it was revoked."""

    class Meta:
        ordering = ["-made_at", "-pk"]
        indexes = [models.Index(fields=["check_id", "ends_at"])]


class GroupWaiver(models.Model):
    """Limits a waiver without a cluster to a group. If the group is deleted, the waiver applies nowhere."""

    waiver = models.OneToOneField(Waiver, primary_key=True, on_delete=models.CASCADE, related_name="scope")
    group = models.ForeignKey(
        "migrations_app.ClusterGroup", null=True, on_delete=models.SET_NULL, related_name="waivers"
    )
    group_name = models.CharField(max_length=80)
