"""Links that programs without a sign-in read: a badge, a calendar or news."""

import uuid

from django.conf import settings
from django.db import models


class FeedLink(models.Model):
    """A link whose address holds a secret, kept as a digest. It opens one feed and nothing else.

    It shows what its owner may see now, and nothing once the owner's account is closed. `cluster` is null for all.
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
