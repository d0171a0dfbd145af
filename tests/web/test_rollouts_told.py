"""What rollout pages say of plans that could not be made, and the banner that stands on every page."""

import dataclasses

import pytest
from django.utils import timezone

from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.policy import KillSwitch
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts.transitions import TransitionCause, transition
from migrations_app.use_cases.scans.store import store_objects
from migrations_app.web.rollouts.new import known_objects
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db
STOPPED = "Kill switch is on: all changes stopped."


def given_up(**columns) -> Rollout:
    row = a_rollout(a_cluster("shop", source="kubeconfig"), state="draft", **columns)
    cause = TransitionCause(code="no_successor", words="no NodePool replaces Provisioner web")
    transition(row, "expired", by=WORKER, cause=cause, finished_at=timezone.now())
    return row


def test_a_plan_that_could_not_be_made_did_not_expire(ada):
    row = given_up(parameters={"provisioners": ["web", "api"]})
    words = text(ada.get(f"/rollouts/{row.pk}", follow=True))
    assert ("Not possible" in words, "Expired" in words) == (True, False)
    assert "no NodePool replaces Provisioner web" in words


def test_a_change_of_state_moves_the_time_of_change(ada):
    row = a_rollout(a_cluster("shop", source="kubeconfig"), state="draft")
    Rollout.objects.filter(pk=row.pk).update(changed_at="2025-01-01T00:00:00Z")
    transition(row, "expired", by=WORKER)
    assert Rollout.objects.get(pk=row.pk).changed_at.date() == timezone.now().date()


def test_choices_count_the_nodes_of_their_own_owner(settings):
    """After a conversion a Provisioner and a NodePool have one name, and nodes of their own."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k", b"k" * 32),))
    row = a_cluster("shop", source="kubeconfig")
    owners = ["karpenter_alpha"] * 2 + ["karpenter_beta"] * 3
    nodes = [OwnedNode(name=f"n{at}", owner=owner, pool="web") for at, owner in enumerate(owners)]
    snapshot = a_snapshot(row, nodes=nodes)
    kinds = ("Provisioner", "NodePool", "EC2NodeClass")
    store_objects(row.pk, [{"kind": kind, "metadata": {"name": "web"}} for kind in kinds], now=timezone.now())
    known = known_objects(row.pk, snapshot.pk)
    assert {part: known[part][0].note for part in ("provisioners", "nodepools", "ec2nodeclasses")} == {
        "provisioners": "2 nodes", "nodepools": "3 nodes", "ec2nodeclasses": "",
    }  # fmt: skip


@pytest.mark.parametrize("page", ["/", "/audit", "/convert", "/catalogue", "/settings/notifications", "/rollouts"])
def test_the_banner_of_the_kill_switch_stands_on_every_page(ada, page):
    KillSwitch.objects.create(on=True, why="a drill", by_name="ada", since=timezone.now())
    answer = ada.get(page, follow=True)
    assert (answer.status_code, text(answer).count(STOPPED)) == (200, 1)


def test_who_changes_no_cluster_is_not_told(ben):
    KillSwitch.objects.create(on=True, why="a drill", by_name="ada", since=timezone.now())
    assert STOPPED not in text(ben.get("/"))


def test_a_rollout_that_stopped_says_the_one_next_thing(ada):
    row = a_rollout(
        a_cluster("shop", source="kubeconfig"), state="paused", cause_code="changed", cause="Node n1 is gone"
    )
    words = text(ada.get(f"/rollouts/{row.pk}", follow=True))
    assert "Next: Abort it and make a new preview: resumed, it would stop here again." in words
