"""Actions in the order of an upgrade; what the preview would refuse on facts of the snapshot is not offered."""

import msgspec
import pytest

from migrations_app.actions.registry import all_actions
from migrations_app.readiness.action_offers import ROLL_BACK, Offer
from migrations_app.readiness.action_order import LAST_RESORT, STEPS, action_path, possible_now
from tests.builders.rows import a_finding, a_report, some_nodes


def an_offer(action, *, enabled=True, checks=("some_check",)):
    return Offer(
        action_id=action, label=action, purpose="", risk="medium", enabled=enabled, checks=checks,
        why="" if enabled else "no",
    )  # fmt: skip


def a_cluster_on(release, **more):
    report = a_report(**more)
    return msgspec.structs.replace(report, cluster=msgspec.structs.replace(report.cluster, karpenter_version=release))


def why(action, report):
    (offer,) = possible_now([an_offer(action)], report)
    return offer.why


def test_every_action_has_its_place():
    placed = [name for _, names in STEPS for name in names] + list(LAST_RESORT)
    assert sorted(placed) == sorted(action.id for action in all_actions() if action.id != ROLL_BACK)


def test_only_the_first_step_that_is_possible_is_current():
    path = action_path([an_offer("remove_legacy"), an_offer("upgrade_crds", enabled=False), an_offer("roll_nodes")])
    assert [(step.title, step.outside, step.current) for step in path.steps] == [
        ("CRDs", False, False), ("Controller", True, False), ("Nodes", False, True), ("Clean up", False, False),
    ]  # fmt: skip


def test_a_run_of_helm_stands_at_the_controller_where_it_is_possible_and_nowhere_else():
    for enabled in (True, False):
        path = action_path([an_offer("upgrade_crds"), an_offer("upgrade_controller", enabled=enabled, checks=())])
        told = {step.title: (step.outside, [one.action_id for one in step.offers]) for step in path.steps}
        assert told["Controller"] == (not enabled, ["upgrade_controller"] * enabled)
        assert [one.action_id for one in path.unneeded] == ["upgrade_controller"] * (not enabled)


def test_what_destroys_is_the_last_resort_and_what_nothing_calls_for_is_apart():
    path = action_path([an_offer("forced_deletion"), an_offer("rename_markers", checks=())])
    assert [offer.action_id for offer in path.last_resort] == ["forced_deletion"]
    assert [offer.action_id for offer in path.unneeded] == ["rename_markers"]


@pytest.mark.parametrize(
    ("action", "release", "words"),
    [
        ("convert_and_apply", "0.31.4", "Needs Karpenter 0.32"),
        ("convert_and_apply", "0.32.10", ""),
        ("taint_and_drift", "0.31.4", "Needs Karpenter 0.32"),
        ("taint_and_drift", "0.33.1", "Needs Karpenter 0.32"),
        ("taint_and_drift", "0.32.10", ""),
        ("roll_nodes", "0.31.4", "Needs Karpenter 0.32"),
        ("remove_legacy", "0.32.10", "Provisioners still own 6 nodes: move them first."),
        ("rewrite_stored_versions", "0.37.8", "Needs Karpenter 1.0"),
        ("rewrite_stored_versions", "1.0.14", ""),
        ("upgrade_crds", "0.31.4", ""),
    ],
)
def test_what_the_running_release_does_not_allow(action, release, words):
    told = why(action, a_cluster_on(release, nodes=some_nodes(6)))
    assert (told == "", told.startswith(words)) == (words == "", True)


@pytest.mark.parametrize("action", ["taint_and_drift", "roll_nodes", "forced_deletion"])
def test_nodes_go_only_where_something_replaces_them(action):
    checks = [a_finding(), a_finding("pools_admit_provisioner_pods")]
    assert why(action, a_cluster_on("0.32.10", checks=checks, nodes=some_nodes(6))).startswith("Needs a ready NodePool")
    ready = [a_finding(), a_finding("pools_admit_provisioner_pods", status="pass")]
    assert why(action, a_cluster_on("0.32.10", checks=ready, nodes=some_nodes(6))) == ""


def test_nodes_of_pools_are_rolled_on_any_release():
    moved = a_cluster_on("1.0.14", nodes=some_nodes(6, owner="karpenter_v1"), legacy={})
    assert why("roll_nodes", moved) == ""


def test_nothing_is_said_of_what_is_not_offered_or_not_known():
    (offer,) = possible_now([an_offer("roll_nodes", enabled=False)], a_cluster_on("0.31.4"))
    assert offer.why == "no"
    assert possible_now([an_offer("roll_nodes")], None)[0].enabled
    assert why("convert_and_apply", a_cluster_on(None)) == ""
