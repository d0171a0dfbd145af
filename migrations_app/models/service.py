"""Service accounts: programs with an identity of their own, and their tokens.

Their roles are grants, like those of people. Their tokens have a table of their own, so that a release without service
accounts accepts none of them.
"""

import uuid

from django.conf import settings
from django.db import models


class ServiceAccountRow(models.Model):
    """A program.

    Its `user` has no password and no identity at a provider, so no person can sign in as it. `scopes` limit its tokens
    at each request. `networks` are the ranges that its tokens may come from; empty for everywhere. It has ended for
    good if `ended_at` is set.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="service")
    name = models.CharField(max_length=60, unique=True)
    purpose = models.CharField(max_length=300, blank=True, default="")
    scopes = models.JSONField(default=list)
    networks = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ServiceToken(models.Model):
    """A token of a service account, stored as a digest like those of people. It never expires if `expires_at`
    is null.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(ServiceAccountRow, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
