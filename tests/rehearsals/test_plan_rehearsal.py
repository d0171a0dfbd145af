"""A previewed plan is rehearsed on a fresh reading, without a failure and with each, and told within a bound."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.plan import Plan, numbered
from migrations_app.actions.rehearsable import PLAYED, unplayed_kinds, why_unplayed
from migrations_app.actions.running_controller import PlannedController
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.rehearsals.document import LISTS, read_document, stored
from migrations_app.rehearsals.plan_rehearsal import rehearse_plan
from migrations_app.rehearsals.play import Failure, no_check
from tests.builders.rehearsals import plan_for
from tests.builders.rollouts import taint
from tests.rehearsals.scene import Scene

FAILURES = (Failure("full_zone"), Failure("nodes_never_ready"), Failure("webhook_down"))


def rehearsed(plan: Plan, scene: Scene, failures=(), check=no_check):
    return rehearse_plan(scene.bundle(), plan, cluster="shop", failures=failures, seed=3, check=check)


@pytest.fixture(scope="module")
def plays():
    return rehearsed(plan_for(Scene()), Scene(), FAILURES)


def test_the_stored_plan_is_played_to_its_end(plays):
    without_failure = plays[0].result
    assert (without_failure.finished, without_failure.plan, without_failure.seed, without_failure.scenario) == (
        True,
        plan_for(Scene()).digest,
        3,
        "none",
    )
    assert "aws_unread" in {one.code for one in without_failure.unknown}


def made_with(image: str, name="karpenter") -> Plan:
    """The plan, made while the Deployment of the controller had that image."""
    deployment = ObjectTarget(
        group="apps", version="v1", plural="deployments", kind="Deployment", name=name, namespace="kube-system"
    )
    controller = PlannedController(deployment=deployment, container="controller", image=image)
    return msgspec.structs.replace(plan_for(Scene()), controllers=(controller,))


def test_the_controller_that_the_plan_was_made_with_may_have_another_address():
    plan = made_with("mirror.example/karpenter:0.32.10")
    (play,) = rehearsed(plan, Scene())
    assert (play.result.finished, play.result.plan) == (True, plan.digest)
    assert "release_unread" not in {one.code for one in play.result.unknown}


@pytest.mark.parametrize(
    ("image", "name", "words"),
    [
        (
            "karpenter:0.31.4",
            "karpenter",
            "Deployment kube-system/karpenter runs Karpenter 0.32.10; at the preview it ran Karpenter 0.31.4",
        ),
        (
            "karpenter:0.32.10",
            "other",
            "Deployment kube-system/other, which ran Karpenter 0.32.10 at the preview, is gone",
        ),
    ],
)
def test_another_release_than_at_the_preview_stops_it_as_it_stops_the_rollout(image, name, words):
    plan = made_with(image, name)
    for play in rehearsed(plan, Scene(), FAILURES[:1]):
        stopped, steps = play.result.stopped, plan.steps
        assert (stopped.step, stopped.title, stopped.code, stopped.words) == (
            steps[0].id, steps[0].title, "release_changed", f"{words}; make a new preview",
        )  # fmt: skip
        assert (play.result.finished, play.result.steps_done, play.result.seconds) == (False, 0, 0)


def test_a_controller_that_could_not_be_read_is_not_known():
    (play,) = rehearse_plan(
        Scene().bundle(without=("Deployment",)),
        made_with("karpenter:0.31.4"),
        cluster="shop",
        failures=(),
        seed=3,
        check=no_check,
    )
    assert (play.result.stopped, play.result.finished) == (None, True)
    assert "release_unread" in {one.code for one in play.result.unknown}


def test_it_is_played_again_with_each_failure(plays):
    told = [(one.scenario, one.zone, one.result.finished if one.result else one.refusal.code) for one in plays]
    assert told == [
        ("none", "", True),
        ("full_zone", "eu-central-1a", True),
        ("nodes_never_ready", "", False),
        ("webhook_down", "", "no_webhook"),
    ]


class Tainted(Scene):
    """The cluster after somebody has tainted its Provisioner."""

    @property
    def documents(self):
        found = super().documents
        for one in found:
            if one["kind"] == "Provisioner":
                one["spec"]["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
        return found


def test_a_cluster_that_changed_since_the_preview_stops_it():
    (play,) = rehearsed(plan_for(Scene(), "taint_and_drift"), Tainted())
    assert (play.result.finished, play.result.stopped.code) == (False, "changed")


def test_what_the_watch_raises_ends_it():
    def over():
        raise Conflict("no more time", code="time_limit")

    with pytest.raises(Conflict):
        rehearsed(plan_for(Scene()), Scene(), check=over)


def test_changes_of_kinds_that_are_not_played_are_refused():
    plan = plan_for(Scene())
    step = taint()
    target = msgspec.structs.replace(step.change.target, kind="Deployment")
    moved = msgspec.structs.replace(step, change=msgspec.structs.replace(step.change, target=target))
    other = msgspec.structs.replace(plan, steps=numbered((moved,)))
    assert (unplayed_kinds(plan), unplayed_kinds(other)) == ((), ("Deployment",))
    with pytest.raises(InvalidInput) as caught:
        rehearsed(other, Scene())
    assert caught.value.code == "not_played"
    assert caught.value.message == (
        "changes of Deployment are not rehearsed: its pods start anew one after another, and the simulator has no "
        "controller that does that"
    )
    assert why_unplayed(plan) == ""


def test_the_kinds_that_are_played():
    assert sorted(PLAYED) == [
        "AWSNodeTemplate", "CustomResourceDefinition", "EC2NodeClass", "Machine", "MutatingWebhookConfiguration",
        "Node", "NodeClaim", "NodePool", "Provisioner", "ValidatingWebhookConfiguration",
    ]  # fmt: skip


def test_a_document_is_read_as_it_was_stored(plays):
    found = read_document(stored(plays))
    assert (found.plays, found.cut) == (plays, ())


@given(times=st.integers(2, 400), most=st.integers(20_000, 200_000))
def test_a_document_is_never_larger_than_its_bound_and_names_what_was_cut(plays, times, most):
    large = msgspec.structs.replace(plays[0].result, drained=plays[0].result.drained * times)
    play = msgspec.structs.replace(plays[0], result=large)
    raw = stored([play], most=most)
    found = read_document(raw)
    kept = len(found.without_failure.drained)
    assert len(raw) <= most
    assert ("drained" in found.cut) == (kept < len(large.drained))
    assert kept <= LISTS["drained"]
    assert (found.without_failure.seconds, found.without_failure.nodes_peak) == (large.seconds, large.nodes_peak)


def test_a_bound_below_the_counts_is_told(plays):
    with pytest.raises(ValueError, match="at most 100 are kept"):
        stored(plays, most=100)
