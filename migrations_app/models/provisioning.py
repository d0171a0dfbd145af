"""Provisioning over SCIM 2.0: tokens of directories, and their data of accounts and teams beyond Django's rows."""

import uuid

from django.conf import settings
from django.db import models


class ProvisioningToken(models.Model):
    """A token for /scim/v2 only. It has a table of its own, so no other endpoint accepts it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=60)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name


class ProvisionedAccount(models.Model):
    """An account of a directory.

    `user_name` is its name in the directory, which may change; the name of the account does not. `closed_by_directory`:
    the directory closed the account and may open it again. `removed_at`: the directory deleted the account, which is
    closed and no longer exists over SCIM.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="provisioned"
    )
    user_name = models.CharField(max_length=150, unique=True)
    external_id = models.CharField(max_length=255, blank=True, default="", db_index=True)
    display_name = models.CharField(max_length=200, blank=True, default="")
    made_by_directory = models.BooleanField(default=False)
    closed_by_directory = models.BooleanField(default=False)
    removed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.user_name


class ProvisionedTeam(models.Model):
    """A team whose members a directory decides: sign-ins at an identity provider neither add nor remove members."""

    team = models.OneToOneField("auth.Group", primary_key=True, on_delete=models.CASCADE, related_name="provisioned")
    external_id = models.CharField(max_length=255, blank=True, default="", db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"team {self.team_id}"
