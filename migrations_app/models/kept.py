"""The objects of a cluster that a conversion takes."""

from django.db import models


class KeptObjects(models.Model):
    """As the newest snapshot saw them. `sealed` is encrypted under the cluster's id, for user data may hold secrets;
    the row is written again only when `digest`, of the objects and the sealing key, has changed."""

    cluster = models.OneToOneField(
        "migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True, related_name="kept_objects"
    )
    digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
    changed_at = models.DateTimeField()
