"""The audit log: rows that are only ever added, each sealed to the one before. Written by use_cases/audit/log.py."""

from django.db import models


class AuditHead(models.Model):
    """One row: the number and hash of the newest event. Who adds an event holds this row (A51)."""

    seq = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="")


class AuditEvent(models.Model):
    """One event (A50). `hash` covers every other column and the hash before it; triggers refuse any later change."""

    seq = models.PositiveBigIntegerField(primary_key=True)
    at = models.CharField(max_length=32)
    """RFC 3339 in UTC with microseconds, as text: it is part of what is hashed."""
    actor = models.CharField(max_length=150)
    method = models.CharField(max_length=20)
    token_id = models.CharField(max_length=64, blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    verb = models.CharField(max_length=60, db_index=True)
    object = models.CharField(max_length=1000, blank=True, default="")
    cluster_id = models.CharField(max_length=36, blank=True, default="", db_index=True)
    cluster_identity = models.CharField(max_length=64, blank=True, default="")
    plan_digest = models.CharField(max_length=64, blank=True, default="")
    step = models.CharField(max_length=8, blank=True, default="")
    attempt = models.PositiveIntegerField(default=0)
    request_digest = models.CharField(max_length=64, blank=True, default="")
    outcome = models.CharField(max_length=60, blank=True, default="")
    correlation = models.CharField(max_length=64, blank=True, default="", db_index=True)
    detail = models.TextField(blank=True, default="{}")
    """Canonical JSON; sensitive values only as HMAC."""
    prev = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["-seq"]
        indexes = [models.Index(fields=["at"], name="audit_at")]
