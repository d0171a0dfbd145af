"""AWS organizations whose EKS clusters are registered together."""

import uuid

from django.db import models

from migrations_app.inventory.objects.cluster_arn import LONGEST_ROLE_ARN


class AwsOrganization(models.Model):
    """One organization: karpdash assumes `hub_role_arn`, which lists the accounts and assumes `member_role` in each.

    Both roles require `external_id`, which karpdash generates and no person chooses (T20). `listing` is the JSON of the
    newest completed listing, `listed_at` its time; null before the first.
    """

    class State(models.TextChoices):
        IDLE = "idle"
        QUEUED = "queued"
        RUNNING = "running"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    hub_role_arn = models.CharField(max_length=LONGEST_ROLE_ARN)
    member_role = models.CharField(max_length=64)
    regions = models.JSONField(default=list)
    external_id = models.CharField(max_length=100, unique=True)
    principal = models.CharField(max_length=LONGEST_ROLE_ARN)
    """karpdash's own ARN at the time of registration: the trust policy contains it."""
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    state = models.CharField(max_length=20, choices=State.choices, default=State.IDLE)
    requested_at = models.DateTimeField(null=True)
    requested_by = models.CharField(max_length=150, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    fence = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    """When the newest listing ended, with or without a result."""
    error_code = models.CharField(max_length=60, blank=True, default="")
    error = models.CharField(max_length=2000, blank=True, default="")
    listing = models.JSONField(null=True)
    listed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "AWS organization"
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
