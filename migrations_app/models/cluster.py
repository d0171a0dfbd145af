"""A registered cluster and its sealed credentials."""

import uuid

from django.db import models


class Cluster(models.Model):
    """One place that is scanned. `sealed` holds the kubeconfig or bundle, encrypted under the row's id."""

    class Source(models.TextChoices):
        KUBECONFIG = "kubeconfig"
        BUNDLE = "bundle"
        SAMPLE = "sample"
        IN_CLUSTER = "in_cluster"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    source = models.CharField(max_length=20, choices=Source.choices)
    server = models.CharField(max_length=500, blank=True, default="")
    context = models.CharField(max_length=253, blank=True, default="")
    environment = models.CharField(max_length=40, blank=True, default="")
    target = models.CharField(max_length=20, blank=True, default="")
    sealed = models.BinaryField(null=True)
    credential_version = models.PositiveIntegerField(default=1)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    interval_seconds = models.PositiveIntegerField(null=True)
    next_due_at = models.DateTimeField(null=True, db_index=True)
    latest = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    last_attempt_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    last_error_code = models.CharField(max_length=60, blank=True, default="")
    last_error_detail = models.CharField(max_length=2000, blank=True, default="")

    class Meta:
        verbose_name = "cluster"
        ordering = ["name"]
