"""The rollback of a rollout that succeeded is a rollout of its own; the original stays as it is."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from migrations_app.access import Person
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.accounts.rights import rights_of
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.rollouts import lifecycle
from migrations_app.use_cases.rollouts.drafts import roll_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    user = get_user_model().objects.create_superuser("ada")
    return Person(id=user.pk, name="ada", rights=rights_of(user)), Actor(name="ada", id=user.pk)


def rollout(cluster, state, **more):
    now = timezone.now()
    return Rollout.objects.create(
        cluster=cluster, cluster_name=cluster.name, action="taint_and_drift", title="Taint", risk="low",
        digest="d" * 64, state=state, author_name="ben", made_at=now, expires_at=now + timedelta(hours=1), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [("succeeded", "succeeded"), ("paused", "rolling_back"), ("failed", "rolling_back"), ("aborted", "rolling_back")],
)
def test_the_original_gives_way_and_one_that_succeeded_stays_so(ada, before, after):  # A07, A08, A35
    person, actor = ada
    original = rollout(Cluster.objects.create(name="shop", source="kubeconfig"), before)
    way_back = Rollout.objects.get(pk=roll_back(original.pk, person, by=actor))
    assert (way_back.action, way_back.rolls_back_id, way_back.state) == ("roll_back", original.pk, "draft")
    Rollout.objects.filter(pk=way_back.pk).update(digest="e" * 64)
    Rollout.objects.filter(pk=way_back.pk).update(state="previewed", risk="low")
    for state in ("awaiting_approval", "approved"):
        Rollout.objects.filter(pk=way_back.pk).update(state=state)
    lifecycle.start(way_back.pk, person, digest="e" * 64, by=actor)
    original.refresh_from_db()
    way_back.refresh_from_db()
    assert (original.state, way_back.state) == (after, "running")
