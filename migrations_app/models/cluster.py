"""A registered cluster and its sealed credentials."""

import uuid

from django.db import models

from migrations_app.inventory.aws_place import LONGEST_ROLE_ARN


class Cluster(models.Model):
    """One place that is scanned. `sealed` holds the kubeconfig or bundle, encrypted under the row's id.

    `eks_arn`, `role_arn` and `external_id` are the way into its AWS account, all of them or none; no credentials.
    """

    class Source(models.TextChoices):
        KUBECONFIG = "kubeconfig"
        BUNDLE = "bundle"
        SAMPLE = "sample"
        IN_CLUSTER = "in_cluster"
        EKS = "eks"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    source = models.CharField(max_length=20, choices=Source.choices)
    server = models.CharField(max_length=500, blank=True, default="")
    context = models.CharField(max_length=253, blank=True, default="")
    environment = models.CharField(max_length=40, blank=True, default="")
    target = models.CharField(max_length=20, blank=True, default="")
    eks_arn = models.CharField(max_length=300, blank=True, default="")
    role_arn = models.CharField(max_length=LONGEST_ROLE_ARN, blank=True, default="")
    external_id = models.CharField(max_length=100, blank=True, default="")
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
        constraints = [
            # One external id opens one cluster's role (T20): a draft cannot be used for two clusters.
            models.UniqueConstraint(
                fields=["external_id"], condition=~models.Q(external_id=""), name="external_id_of_one_cluster"
            )
        ]
