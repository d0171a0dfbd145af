"""Loads the sample fleet: one registered cluster for each story, scanned by the normal worker."""

from migrations_app.models.cluster import Cluster
from migrations_app.samples.fleet import stories


def load() -> int:
    """Adds the sample clusters and returns how many; 0 if any cluster is registered already."""
    if Cluster.objects.exists():
        return 0
    rows = [
        Cluster(name=story.name, source=Cluster.Source.SAMPLE, context=story.name, environment="sample")
        for story in stories()
    ]
    return len(Cluster.objects.bulk_create(rows))
