"""Loads the sample fleet: one registered cluster a story, scanned by the real worker like any other."""

from migrations_app.models.cluster import Cluster
from migrations_app.samples.fleet import stories


def load() -> int:
    """How many sample clusters were added; those that are there, or were renamed, are left alone."""
    if Cluster.objects.exists():
        return 0
    rows = [
        Cluster(name=story.name, source=Cluster.Source.SAMPLE, context=story.name, environment="sample")
        for story in stories()
    ]
    return len(Cluster.objects.bulk_create(rows))
