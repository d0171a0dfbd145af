"""The state of sample clusters that can be changed. Real clusters have no such row."""

from django.db import models


class SampleTwin(models.Model):
    """Everything that the in-memory API server of one sample cluster contains. `revision` is compared at each write."""

    cluster = models.OneToOneField(
        "migrations_app.Cluster", primary_key=True, on_delete=models.CASCADE, related_name="sample_twin"
    )
    sample = models.CharField(max_length=60)
    revision = models.PositiveBigIntegerField(default=1)
    body = models.BinaryField()
    begun_at = models.DateTimeField()
    """When it was created or reset: plans from before are of a former state and invalid."""
    changed_at = models.DateTimeField()

    class Meta:
        verbose_name = "sample cluster's state"
