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
    steps = action_path(
        [an_offer("remove_legacy"), an_offer("upgrade_crds", enabled=False), an_offer("roll_nodes")], release="0.37.8"
    ).steps
    assert [(step.title, step.outside, step.current) for step in steps] == [
        ("Nodes", False, True), ("Clean up", False, False), ("New CRDs", False, False), ("Controller", True, False),
    ]  # fmt: skip


TO_BETA_ONLY = (
    a_finding("crds_owned_by_helm", hop="0.33+", severity="warning", phase="crds"),
    a_finding("hop_crds_installed", hop="0.33+", phase="crds"),
    a_finding("old_provisioners_fenced", hop="0.33+", severity="warning", phase="rollout"),
    a_finding("legacy_machines_gone", hop="0.33+", phase="rollout"),
    a_finding("legacy_provisioners_gone", hop="0.33+", phase="cleanup"),
)
"""What fails on a cluster with Provisioners before the upgrade to the first release that does not know them."""


def path_at(findings, *, release, **offers):
    told = [an_offer(action, checks=checks) for action, checks in offers.items()]
    return action_path(told, findings=findings, release=release, next_check=None)


def titles(path):
    return [step.title for step in path.steps]


def test_what_a_blocker_asks_for_comes_before_the_new_release():
    """0.33 runs no Provisioner: whoever upgrades before the nodes are replaced loses sight of them."""
    path = path_at(
        TO_BETA_ONLY, release="0.37.8", adopt_crds=("crds_owned_by_helm",), upgrade_crds=("hop_crds_installed",),
        taint_and_drift=("legacy_machines_gone", "old_provisioners_fenced"),
        remove_legacy=("legacy_provisioners_gone",),
    )  # fmt: skip
    assert titles(path) == ["CRDs", "Nodes", "Clean up", "New CRDs", "Controller"]


def test_stored_objects_are_rewritten_before_the_release_that_cannot_read_them():
    stored = (a_finding("stored_versions_clean", hop="1.1+", phase="crds"), a_finding("hop_crds_installed", hop="1.1+"))
    offers = {"upgrade_crds": ("hop_crds_installed",), "rewrite_stored_versions": ("stored_versions_clean",)}
    path = path_at(stored, release="1.1.10", **offers)
    assert titles(path) == ["Objects", "New CRDs", "Controller"]


def test_what_only_warns_after_the_upgrade_comes_after_it():
    old = (a_finding("claims_owned_by_current_version", hop="1.1+", severity="warning", phase="rollout"),)
    assert titles(path_at(old, release="1.1.10", roll_nodes=("claims_owned_by_current_version",))) == [
        "Controller", "Nodes",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("next_check", "current"),
    [("legacy_machines_gone", ["Nodes"]), ("controller_permitted", []), ("", ["New CRDs"]), (None, ["CRDs"])],
)
def test_the_current_step_is_the_one_that_the_cluster_page_names(next_check, current):
    offers = [
        an_offer("adopt_crds", checks=("crds_owned_by_helm",)),
        an_offer("taint_and_drift", checks=("legacy_machines_gone",)),
        an_offer("upgrade_crds", checks=("hop_crds_installed",)),
    ]
    path = action_path(offers, findings=TO_BETA_ONLY, release="0.37.8", next_check=next_check)
    assert [step.title for step in path.steps if step.current] == current


def test_the_upgrade_begins_with_its_crds_even_where_karpdash_may_not_install_them():
    crds = an_offer("upgrade_crds", enabled=False, checks=("hop_crds_installed",))
    path = action_path([crds], findings=TO_BETA_ONLY, release="0.37.8", next_check="")
    assert [(step.title, step.current) for step in path.steps] == [("New CRDs", True), ("Controller", False)]


def test_what_a_later_upgrade_needs_is_apart_and_may_be_done_ahead():
    here, everywhere = an_offer("roll_nodes", enabled=False, checks=()), an_offer("roll_nodes")
    path = action_path([here, an_offer("adopt_crds")], release="0.31.5", later=[everywhere, an_offer("adopt_crds")])
    assert (path.later, path.unneeded, titles(path)) == ((everywhere,), (), ["CRDs", "Controller"])


def test_a_run_of_helm_stands_at_the_controller_where_it_is_possible_and_nowhere_else():
    for enabled in (True, False):
        helm = an_offer("upgrade_controller", enabled=enabled, checks=())
        path = action_path([an_offer("upgrade_crds"), helm], release="0.37.8")
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


@pytest.mark.parametrize(("status", "words"), [("pass", "Every Provisioner has a ready NodePool"), ("fail", "")])
def test_nothing_is_converted_twice(status, words):
    """A second NodePool of a Provisioner that has one would not let the Provisioner go."""
    report = a_cluster_on("0.32.10", checks=[a_finding(), a_finding("pools_admit_provisioner_pods", status=status)])
    (alpha,) = possible_now([an_offer("convert_and_apply", checks=("legacy_provisioners_gone",))], report)
    (beta,) = possible_now([an_offer("convert_and_apply", checks=("compatibility_annotations_gone",))], report)
    assert (alpha.why.startswith(words), alpha.enabled, beta.enabled) == (True, words == "", True)


def test_nodes_of_pools_are_rolled_on_any_release():
    moved = a_cluster_on("1.0.14", nodes=some_nodes(6, owner="karpenter_v1"), legacy={})
    assert why("roll_nodes", moved) == ""


def test_nothing_is_said_of_what_is_not_offered_or_not_known():
    (offer,) = possible_now([an_offer("roll_nodes", enabled=False)], a_cluster_on("0.31.4"))
    assert offer.why == "no"
    assert possible_now([an_offer("roll_nodes")], None)[0].enabled
    assert why("convert_and_apply", a_cluster_on(None)) == ""
