"""Beside a real cluster samples are in no selection and in no message unless somebody asks for them."""

import dataclasses

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.campaigns.recipe import Selection
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.notification import Delivery
from migrations_app.use_cases.campaigns.drafts import chosen
from migrations_app.use_cases.clusters.groups import add_to_group, create_group
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import route_events
from migrations_app.use_cases.samples.load import load_samples
from tests.builders.rows import a_cluster
from tests.use_cases.notifications.news import add
from tests.use_cases.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def samples(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    load_samples()


def told_of(cluster: Cluster) -> int:
    """How many channels take a message about the cluster."""
    publish_event("scan.failed", cluster.name, cluster=cluster.pk, code="timeout")
    route_events(timezone.now())
    found = Delivery.objects.count()
    Delivery.objects.all().delete()
    return found


def test_messages_about_samples_go_to_nobody_beside_a_real_cluster_unless_a_channel_names_their_group():
    alpha, story = Cluster.objects.get(name="live-alpha"), Cluster.objects.filter(source="sample").first()
    add()
    assert (told_of(alpha), told_of(story)) == (1, 1)
    real = a_cluster("prod")
    assert (told_of(alpha), told_of(story), told_of(real)) == (0, 0, 1)
    add(groups=(ClusterGroup.objects.get(name="Sample clusters").pk,))
    assert (told_of(alpha), told_of(story), told_of(real)) == (1, 0, 1)


def test_a_campaign_takes_samples_beside_a_real_cluster_only_where_they_are_named():
    root = person(User.objects.create_superuser("root"))
    alpha = Cluster.objects.get(name="live-alpha")

    def names(**wanted: tuple[str, ...]) -> set[str]:
        return set(chosen(Selection(**wanted), person=root).values_list("name", flat=True))

    assert "live-alpha" in names()
    real = a_cluster("prod")
    mixed = create_group("mixed")
    add_to_group(mixed, [real.pk, alpha.pk])
    assert names() == {"prod"}
    assert names(groups=(str(mixed),)) == {"prod", "live-alpha"}
    assert names(clusters=(str(alpha.pk),)) == {"live-alpha"}
    assert "live-alpha" in names(environments=("sample",))
