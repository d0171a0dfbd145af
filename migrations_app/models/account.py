"""Accounts beyond Django's user: role grants, OIDC identities, one-time passwords, API tokens, feed links, idempotency
keys, and the preferred tool for fixes.
"""

import uuid

from django.conf import settings
from django.db import models


class Grant(models.Model):
    """A role, granted to a person or a team (a Django group), over one group of clusters or over all."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        OPERATOR = "operator"
        APPROVER = "approver"
        ADMIN = "admin"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    team = models.ForeignKey("auth.Group", null=True, blank=True, on_delete=models.CASCADE, related_name="grants")
    over = models.ForeignKey(
        "migrations_app.ClusterGroup", null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    """None means every cluster, including future ones."""
    role = models.CharField(max_length=20, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(person__isnull=False, team__isnull=True)
                | models.Q(person__isnull=True, team__isnull=False),
                name="grant_to_a_person_or_a_team",
            ),
        )

    def __str__(self) -> str:
        return f"{self.role} for {self.person or self.team} over {self.over or 'every cluster'}"


class ApiIdempotency(models.Model):
    """An idempotency key of the API.

    `digest` is of the request; `status` is null while the request is under way. `sealed` is the response, encrypted
    because it may hold a token's secret.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    sealed = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="one_answer_per_key")]


class Identity(models.Model):
    """Links an account to the provider's issuer and subject, which never change; names and addresses may."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="identity"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("issuer", "subject"), name="one_account_of_an_identity"),)

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class TemporaryPassword(models.Model):
    """Marks a user with a one-time password, who has to choose another password first."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE)


class ApiToken(models.Model):
    """An API token. `digest` is the SHA-256 of a random 256-bit secret; `prefix` lets people tell tokens apart."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]


class FeedLink(models.Model):
    """A link with a secret in its address, stored as a digest.

    It opens one feed and nothing else. The feed shows what the owner may see now, and nothing if the owner's account is
    closed. `cluster` is null for all clusters.
    """

    class Kind(models.TextChoices):
        BADGE = "badge"
        CALENDAR = "calendar"
        NEWS = "news"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="feed_links")
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    cluster = models.ForeignKey("migrations_app.Cluster", null=True, on_delete=models.CASCADE, related_name="+")
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]


class ToolChoice(models.Model):
    """The tool that a person prefers for fixes: pages show its commands first. Without a choice there is no row."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    tool = models.CharField(max_length=20)
