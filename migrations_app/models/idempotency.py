"""Answers kept for a day, so that a request that is sent twice is done once."""

import uuid

from django.conf import settings
from django.db import models


class ApiIdempotency(models.Model):
    """`digest` is of the request; `sealed` holds the answer, encrypted, for it may hold a token's secret. `status` is
    null while the request is under way."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    sealed = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="one_answer_per_key")]
