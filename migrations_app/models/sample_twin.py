"""The state of sample clusters that can be acted on. Rows of real clusters have none."""

from django.db import models


class SampleTwin(models.Model):
    """Everything that an API server in memory holds for one sample cluster. `revision` is compared with each write."""

    cluster = models.OneToOneField(
        "migrations_app.Cluster", primary_key=True, on_delete=models.CASCADE, related_name="sample_twin"
    )
    sample = models.CharField(max_length=60)
    revision = models.PositiveBigIntegerField(default=1)
    body = models.BinaryField()
    begun_at = models.DateTimeField()
    """When it was made or reset: what was planned before belongs to another life of it."""
    changed_at = models.DateTimeField()

    class Meta:
        verbose_name = "sample cluster's state"
