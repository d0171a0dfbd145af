"""Values for monitoring, stored so that a scrape needs few queries for any number of scans."""

from django.db import models


class Gauges(models.Model):
    """The values of a cluster's newest snapshot, written in the transaction that publishes it."""

    cluster = models.OneToOneField("migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True)
    body = models.JSONField(default=dict)


class Tally(models.Model):
    """A monotonic counter. `subject` is a cluster's id, or empty for the whole installation."""

    subject = models.CharField(max_length=36, blank=True, default="")
    what = models.CharField(max_length=20)
    first = models.CharField(max_length=60, blank=True, default="")
    second = models.CharField(max_length=20, blank=True, default="")
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "what", "first", "second"], name="one_tally")]


class ProcessHeartbeat(models.Model):
    """The heartbeat of a worker, with its queues, or of beat."""

    name = models.CharField(primary_key=True, max_length=200)
    lanes = models.CharField(max_length=200, blank=True, default="")
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "migrations_app_pulse"
