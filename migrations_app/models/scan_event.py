"""Ends of scans in commit order, for programs that follow resource events.

The audit log has no event for each scan, because a large fleet has thousands of scans a day.
"""

from django.db import models


class ScanEventHead(models.Model):
    """One row with the number of the newest event. A writer changes this row first, so that numbers are in commit
    order.
    """

    seq = models.PositiveBigIntegerField(default=0)


class ScanEvent(models.Model):
    """The end of one scan, kept for some days. `code` is the error code of a failed scan."""

    seq = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="+")
    scan_id = models.UUIDField()
    state = models.CharField(max_length=10)
    code = models.CharField(max_length=60, blank=True, default="")

    class Meta:
        ordering = ["-seq"]
