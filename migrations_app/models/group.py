"""Clusters taken together: groups that roles, intervals, waivers and notifications are given to, and labels."""

import uuid

from django.db import models


class ClusterGroup(models.Model):
    """Clusters that are looked after alike. A cluster may be in several."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    interval_seconds = models.PositiveIntegerField(null=True)
    """Between scans of a cluster that has none of its own; of several groups the shortest counts."""
    clusters = models.ManyToManyField("migrations_app.Cluster", related_name="groups")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class ClusterLabel(models.Model):
    """A word about a cluster, such as team or region, by which the fleet is narrowed and grouped."""

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="labels")
    key = models.CharField(max_length=63)
    value = models.CharField(max_length=120)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "key"), name="one_value_of_a_label"),)
        indexes = (models.Index(fields=("key", "value"), name="clusters_by_label"),)

    def __str__(self) -> str:
        return f"{self.key}={self.value}"
