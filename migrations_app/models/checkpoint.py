"""Signed checkpoints of the audit log, and how far each audit sink has received them."""

from django.db import models


class Checkpoint(models.Model):
    """The signed statement that event `seq` has the hash `hash`; the key is not in the database (A53). Never changed or
    deleted.
    """

    class Why(models.TextChoices):
        COUNT = "count"
        TIME = "time"
        START = "start"
        END = "end"
        SEAL = "seal"

    seq = models.PositiveBigIntegerField(primary_key=True)
    hash = models.CharField(max_length=64)
    at = models.CharField(max_length=32)
    """RFC 3339 in UTC with microseconds, as text, because it is part of what is signed."""
    why = models.CharField(max_length=10, choices=Why.choices)
    key = models.CharField(max_length=16)
    previous = models.CharField(max_length=64, blank=True, default="")
    """Digest of the previous checkpoint."""
    signature = models.CharField(max_length=88)

    class Meta:
        ordering = ["seq"]


class AuditSink(models.Model):
    """One audit sink, identified by its address. `seq` is the last event covered by a delivered checkpoint."""

    target = models.CharField(max_length=500, primary_key=True)
    seq = models.PositiveBigIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    error = models.CharField(max_length=60, blank=True, default="")
    detail = models.CharField(max_length=300, blank=True, default="")
    busy_until = models.DateTimeField(null=True)
    """A worker has claimed the sink until then, so that only one delivers at a time."""

    class Meta:
        ordering = ["target"]
