"""Numbers for monitoring: kept where a scrape finds them in a few queries, however many scans there were."""

from django.db import models


class Gauges(models.Model):
    """What the newest snapshot of a cluster says in numbers; written in the transaction that publishes it."""

    cluster = models.OneToOneField("migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True)
    body = models.JSONField(default=dict)


class Tally(models.Model):
    """A count that only grows. `subject` is a cluster's id, or empty for the whole installation."""

    subject = models.CharField(max_length=36, blank=True, default="")
    what = models.CharField(max_length=20)
    first = models.CharField(max_length=60, blank=True, default="")
    second = models.CharField(max_length=20, blank=True, default="")
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "what", "first", "second"], name="one_tally")]


class Pulse(models.Model):
    """A process that gave a sign of life: a worker with the lanes that it serves, or the timetable."""

    name = models.CharField(primary_key=True, max_length=200)
    lanes = models.CharField(max_length=200, blank=True, default="")
    seen_at = models.DateTimeField()
