"""Loads the sample fleet: a cluster for each story to look at, and those to act on with two sample people."""

from django.db import transaction

from migrations_app.models.cluster import Cluster
from migrations_app.samples.fleet import stories
from migrations_app.use_cases.samples.clusters import make_all
from migrations_app.use_cases.samples.people import make_people


def load_samples() -> int:
    """Adds the sample clusters and returns how many; 0 if any cluster is registered already."""
    if Cluster.objects.exists():
        return 0
    rows = [
        Cluster(name=story.name, source=Cluster.Source.SAMPLE, context=story.name, environment="sample")
        for story in stories()
    ]
    with transaction.atomic():
        made = Cluster.objects.bulk_create(rows)
        living = make_all()
        make_people(living)
    return len(made) + len(living)
