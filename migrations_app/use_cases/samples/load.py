"""Loads the sample fleet: read-only clusters, one for each story, and clusters that can be changed, with two sample
people. The latter can also be added beside registered clusters.
"""

from django.db import IntegrityError, transaction

from migrations_app.access import Person
from migrations_app.errors import Conflict, PermissionDenied
from migrations_app.models.cluster import Cluster
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.samples.changeable.clusters import SAMPLES
from migrations_app.samples.fleet import stories
from migrations_app.use_cases.accounts.rights import person_over_cluster
from migrations_app.use_cases.samples.clusters import make_all
from migrations_app.use_cases.samples.people import make_group_of, make_people, served_here_only


def load_samples() -> int:
    """Adds the sample clusters and returns how many; 0 if any cluster is registered already."""
    if Cluster.objects.exists():
        return 0
    rows = [
        Cluster(name=story.name, source=Cluster.Source.SAMPLE, context=story.name, environment="sample")
        for story in stories()
    ]
    with transaction.atomic():
        clusters = Cluster.objects.bulk_create(rows)
        changeable = make_all()
        make_people(changeable)
    return len(clusters) + len(changeable)


def missing_samples() -> int:
    """How many of the sample clusters that can be changed are missing."""
    return len(SAMPLES) - SampleTwin.objects.count()


def add_samples(*, person: Person | None) -> int:
    """Adds the missing sample clusters that can be changed, beside registered ones; returns how many.

    The sample people are added if the installation only serves this machine; else real people use the samples, with a
    role over their group. `person` is None for the command line. Raises PermissionDenied, and Conflict `name_taken` if
    another cluster has the name of a sample, `sample_person` if real clusters are in the group of that name.
    """
    if person is not None and "register" not in person_over_cluster(person, None).rights:
        raise PermissionDenied("the account may not add clusters", code="forbidden")
    names = [sample.name for sample in SAMPLES]
    if namesake := Cluster.objects.filter(name__in=names, sample_twin__isnull=True).order_by("name").first():
        raise Conflict(f"there is a cluster named {namesake.name} already", code="name_taken")
    missing = missing_samples()
    try:
        with transaction.atomic():
            changeable = make_all()
            (make_people if served_here_only() else make_group_of)(changeable)
    except IntegrityError:
        raise Conflict("the samples are being added by another request", code="name_taken") from None
    return missing
