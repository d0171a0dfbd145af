"""A failing check that somebody accepted, with a reason and an end."""

import uuid

from django.db import models


class Waiver(models.Model):
    """Without a cluster it holds for those of its `scope`, a group, or without that for all. Never edited and never
    removed: it ends, or is revoked.

    `blockers`: whoever made it may accept what blocks; without that it covers warnings only.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    check_id = models.CharField(max_length=80)
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
    """When its end was recorded; null while it holds, and for one that was revoked."""

    class Meta:
        ordering = ["-made_at", "-pk"]
        indexes = [models.Index(fields=["check_id", "ends_at"])]


class GroupWaiver(models.Model):
    """Narrows a waiver without a cluster to the clusters of a group. One whose group is gone holds nowhere."""

    waiver = models.OneToOneField(Waiver, primary_key=True, on_delete=models.CASCADE, related_name="scope")
    group = models.ForeignKey(
        "migrations_app.ClusterGroup", null=True, on_delete=models.SET_NULL, related_name="waivers"
    )
    group_name = models.CharField(max_length=80)
