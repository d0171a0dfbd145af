"""Plans end when they are too old or their cluster is reached another way; a held cluster is not forgotten (A05)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.clusters.eks_registration import remove_access
from migrations_app.use_cases.clusters.registration import remove
from migrations_app.use_cases.rollouts.lifecycle import expire_old_plans, void_plans
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
PLANNED = ("draft", "previewed", "awaiting_approval", "approved")


def states() -> dict[str, tuple[str, str]]:
    return {row.title: (row.state, row.cause_code) for row in Rollout.objects.all()}


def test_old_plans_run_out_and_nothing_else_does():
    shop, old = a_cluster("shop"), timezone.now() - timedelta(seconds=1)
    for state in (*PLANNED, "running", "succeeded"):
        a_rollout(shop, state=state, title=state, expires_at=old)
    a_rollout(shop, title="young")
    assert expire_old_plans() == 4
    assert states() == dict.fromkeys(PLANNED, ("expired", "expired")) | {
        "running": ("running", ""), "succeeded": ("succeeded", ""), "young": ("previewed", ""),
    }  # fmt: skip
    assert AuditEvent.objects.filter(verb="rollout.expired", actor="karpdash").count() == 4
    assert expire_old_plans() == 0


def test_a_changed_way_to_the_cluster_voids_plans_and_pauses_what_runs():  # A05
    shop, other = a_cluster("shop"), a_cluster("other")
    for state in (*PLANNED, "running"):
        a_rollout(shop, state=state, title=state)
    a_rollout(other, title="other")
    void_plans(shop.pk)
    assert states() == dict.fromkeys(PLANNED, ("expired", "cluster_changed")) | {
        "running": ("running", ""), "other": ("previewed", ""),
    }  # fmt: skip
    assert Rollout.objects.get(title="running").stop_request == "pause"
    assert AuditEvent.objects.filter(verb="rollout.pause_asked", outcome="cluster_changed").count() == 1


def test_a_wish_to_abort_stays():
    row = a_rollout(a_cluster("shop"), state="running", stop_request="abort")
    void_plans(row.cluster_id)
    row.refresh_from_db()
    assert row.stop_request == "abort"


def test_taking_the_way_into_aws_away_voids_plans():
    shop = a_cluster("shop", eks_arn="arn:aws:eks:eu-west-1:1:cluster/a", role_arn="r", external_id="x")
    row = a_rollout(shop)
    remove_access(shop.pk)
    row.refresh_from_db()
    assert (row.state, row.cause_code) == ("expired", "cluster_changed")


@pytest.mark.parametrize("state", ["running", "paused", "needs_attention", "rolling_back"])
def test_a_held_cluster_is_not_forgotten(state):
    row = a_rollout(a_cluster("shop"), state=state)
    with pytest.raises(Conflict) as refused:
        remove(row.cluster_id, typed_name="shop")
    assert (refused.value.code, str(row.pk) in refused.value.message) == ("rollout_holds", True)
    assert Cluster.objects.count() == 1


@pytest.mark.parametrize("state", [*PLANNED, "succeeded", "failed"])
def test_one_without_a_rollout_under_way_is(state):
    row = a_rollout(a_cluster("shop"), state=state)
    remove(row.cluster_id, typed_name="shop")
    assert (Cluster.objects.count(), Rollout.objects.count()) == (0, 0)
