"""What is left of the older generation, day by day."""

from django.db import models


class LegacyDay(models.Model):
    """The last scan of a cluster on a day, in UTC. A count is null where that scan could not read the kind."""

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="legacy_days")
    day = models.DateField(db_index=True)
    provisioners = models.PositiveIntegerField(null=True)
    templates = models.PositiveIntegerField(null=True)
    machines = models.PositiveIntegerField(null=True)
    nodes = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "day"), name="one_legacy_day"),)
