"""Each fix of a planted fault, made: the check passes, and no other one fails. What cannot be shown is listed here."""

from collections import defaultdict
from collections.abc import Mapping

import pytest

from migrations_app.checks.changes import HelmChange, KarpdashAction, PersonTask, leaves
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault, names
from tests.acceptance.proofs import (
    FAILS,
    NEWER_KUBECTL,
    ON_SERVER,
    PROVEN,
    TEXT,
    by_kubectl_alone,
    changes_of,
    finding_of,
    proof,
)

BY_HAND = frozenset(
    {
        "accelerators_named_apart",
        "alerts_name_current_metrics",
        "argocd_waits_for_no_beta",
        "claims_join_their_nodes",
        "claims_owned_by_current_version",
        "claims_tagged_with_cluster",
        "condition_reasons_given",
        "controller_off_its_nodes",
        "controller_outside_mesh",
        "crd_fields_current",
        "crds_match_controller",
        "crds_not_terminating",
        "dashboards_name_current_metrics",
        "delivery_tools_agree",
        "drift_not_held_off",
        "expired_claims_gone",
        "gitops_applies_current_versions",
        "hook_jobs_finished",
        "hop_start_runs",
        "instance_profiles_have_roles",
        "kubernetes_inside_window",
        "node_class_references_complete",
        "node_roles_may_join",
        "nodes_owned_by_nodeclaims",
        "nothing_stuck_deleting",
        "one_autoscaler_runs",
        "one_budget_per_pod",
        "one_controller_runs",
        "one_owner_of_crds",
        "pdbs_allow_disruption",
        "pods_have_controllers",
        "pools_have_room",
        "ports_open",
        "retired_annotations_replaced",
        "selected_labels_exist",
        "terraform_adds_beside",
        "tolerations_name_current_taints",
        "workloads_select_current_labels",
        "workloads_select_stable_labels",
    }
)
"""Their remedies, or a part of them that counts, are still text: there is no change that could be made."""
FOR_A_PERSON: Mapping[str, str] = {
    "alpha_behaviour_kept": "what the alpha object left open has to be chosen for the new one",
    "alpha_objects_convert": "a launch template is taken apart by hand",
    "bottlerocket_knows_raid0": "which image runs is a choice",
    "cluster_name_given": "the cluster does not say its name in AWS",
    "consolidation_stated": "how soon nodes are consolidated is a choice",
    "controller_sidecars_fit": "only the owner of the sidecar knows what it may do",
    "custom_images_tainted": "user data is a script of somebody's own",
    "durations_accepted": "the length of time is a choice",
    "feature_gates_in_force": "whether nodes are to drift is a choice, and they begin at once",
    "gpu_pools_name_images": "which image runs is a choice",
    "image_families_outlive_hop": "which image runs is a choice",
    "image_terms_valid": "which image runs is a choice",
    "images_pinned": "which image runs is a choice",
    "inline_providers_gone": "the template that takes over is written by hand",
    "kubelet_settings_in_classes": "pools that share a class may want different settings",
    "limits_and_weights_valid": "the number is a choice",
    "node_classes_have_one_identity": "role or instance profile is a choice",
    "node_config_left_to_karpenter": "user data is a script of somebody's own",
    "pool_keys_accepted": "what the key was meant to select is not known",
    "removed_env_names_unused": "the variable is not in the values, so where it is written is not known",
    "selector_values_hold_no_comma": "a comma may be part of the value",
    "ubuntu_images_named": "which image runs is a choice",
}
"""Why no command can make the fix."""
ONLY_LOOKS: Mapping[str, str] = {
    "conversion_webhook_resolves": "the right Service is called, and why its pods are not ready is seen in the cluster",
    "custom_images_register": "a node that registers shows it, and only time brings one",
    "hashes_not_newer": "the controller writes its own hash versions by itself",
    "pools_and_classes_ready": "the conditions of the objects say what is missing, mostly in AWS",
}
"""Fixes of single causes that read and change nothing, and what settles the cause."""
OWN_ACTIONS: Mapping[str, str] = {
    "pools_admit_provisioner_pods": "the action converts, previews and asks; its tests run it on a server",
}
"""Fixes that are an action of karpdash."""
BESIDE: Mapping[str, tuple[frozenset[str], str]] = {
    "crd_conversion_cleared": (
        frozenset({"conversion_webhook_resolves"}),
        "right before the CRDs of 1.1, which convert nothing; the controller of 1.0 insists until then",
    ),
    "removed_helm_keys_unused": (
        frozenset({"interruption_queue_answers"}),
        "open, not failed: the queue that the right spelling names is asked for in AWS",
    ),
}
"""What fails or is open anew where the fix of that check is made, and why that is right."""


@pytest.mark.parametrize("fault", FAULTS, ids=names(FAULTS))
def test_no_fix_leaves_its_check_failing_or_makes_another_fail(fault: Fault) -> None:
    found = proof(fault)
    assert found.outcome != FAILS
    assert found.beside <= BESIDE.get(fault.check, (frozenset(), ""))[0]


def test_what_is_not_proven_is_listed_with_its_reason() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for fault in FAULTS:
        found[proof(fault).outcome].add(fault.check)
    del found[PROVEN]
    wanted = {
        TEXT: BY_HAND,
        "for_a_person": FOR_A_PERSON.keys(),
        "reads_only": ONLY_LOOKS.keys(),
        "own_action": OWN_ACTIONS.keys(),
    }
    assert {outcome: sorted(checks) for outcome, checks in found.items()} == {
        outcome: sorted(checks) for outcome, checks in wanted.items()
    }
    seen = {fault.check for fault in FAULTS if proof(fault).beside}
    assert seen == BESIDE.keys()


def test_what_is_for_a_person_says_why() -> None:
    silent = []
    for fault in FAULTS:
        if proof(fault).outcome == "for_a_person":
            steps = [step for change in changes_of(finding_of(fault)) for step in leaves(change)]
            asked = [one for one in steps if isinstance(one, PersonTask) or one.when == "person"]
            told = [one.why or one.given for one in asked if isinstance(one, HelmChange)]
            told += [one.why for one in asked if isinstance(one, PersonTask)]
            silent += [fault.name] if not told or not all(told) else []
    assert silent == []


def test_an_action_is_named_where_one_makes_the_fix() -> None:
    for fault in FAULTS:
        if proof(fault).outcome == "own_action":
            steps = [step for change in changes_of(finding_of(fault)) for step in leaves(change)]
            assert any(isinstance(step, KarpdashAction) for step in steps)


def test_most_causes_that_have_a_change_are_proven() -> None:
    proven = {fault.check for fault in FAULTS if proof(fault).outcome == PROVEN}
    assert len(proven) >= 29


def test_what_kubectl_alone_clears_is_run_on_a_server() -> None:
    assert {fault.of for fault in FAULTS if by_kubectl_alone(fault)} == {*ON_SERVER, *NEWER_KUBECTL}
