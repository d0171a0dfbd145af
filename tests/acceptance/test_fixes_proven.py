"""Each fix of a planted fault, made: the check passes, and no other one fails. What cannot be shown is listed here."""

from collections import defaultdict
from collections.abc import Mapping

import pytest

from migrations_app.checks.changes import HelmChange, KarpdashAction, PersonTask, leaves
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault, names
from tests.acceptance.proofs import (
    ALONE,
    FAILS,
    GUARDED,
    NEWER_KUBECTL,
    ON_SERVER,
    PROVEN,
    UNSEEN_THERE,
    by_kubectl_alone,
    changes_of,
    finding_of,
    proof,
)

pytestmark = ONE_WORKER

FOR_A_PERSON: Mapping[str, str] = {
    "alerts_name_current_metrics": "what to ask for in the place of a metric that is gone is a choice",
    "alpha_behaviour_kept": "what the alpha object left open has to be chosen for the new one",
    "alpha_objects_convert": "a launch template is taken apart by hand",
    "argocd_waits_for_no_beta": "where Argo CD is configured from is not read",
    "bottlerocket_knows_raid0": "which image runs is a choice",
    "claims_tagged_with_cluster": "the controller tags them by itself once it may, which AWS decides",
    "class_names_fit_labels": "the new name is a choice, and pools take it over one at a time",
    "cluster_name_given": "the cluster does not say its name in AWS",
    "consolidation_stated": "how soon nodes are consolidated is a choice",
    "controller_sidecars_fit": "only the owner of the sidecar knows what it may do",
    "crd_conversion_cleared": "the CRDs that are written over belong to a tool",
    "crds_not_terminating": "a deletion cannot be undone",
    "custom_images_tainted": "user data is a script of somebody's own",
    "delivery_tools_agree": "which of two tools keeps an object is a choice",
    "drift_enabled_for_rollout": "which nodes are replaced by hand, and when, is a choice",
    "durations_accepted": "the length of time is a choice",
    "feature_gates_in_force": "whether nodes are to drift is a choice, and they begin at once",
    "gpu_pools_name_images": "which image runs is a choice",
    "helm_runs_finished": "only who began the run knows whether it goes on",
    "image_families_outlive_hop": "which image runs is a choice",
    "image_terms_valid": "which image runs is a choice",
    "images_pinned": "which image runs is a choice",
    "inline_providers_gone": "the template that takes over is written by hand",
    "kubelet_settings_in_classes": "pools that share a class may want different settings",
    "kubernetes_inside_window": "a control plane cannot be rolled back",
    "limits_and_weights_valid": "the number is a choice",
    "no_role_assumed": "how the controller gets the permissions without the setting is a choice",
    "node_classes_have_one_identity": "role or instance profile is a choice",
    "node_config_left_to_karpenter": "user data is a script of somebody's own",
    "node_roles_may_join": "the name of a role is a choice",
    "nothing_stuck_deleting": "whether the instance is gone is seen in AWS",
    "one_budget_per_pod": "which budget stays is for the owners",
    "one_controller_runs": "which of two releases manages the nodes is not told by the cluster",
    "pods_have_controllers": "what a pod without an owner is for is not told by the cluster",
    "pool_keys_accepted": "what the key was meant to select is not known",
    "removed_env_names_unused": "the variable is not in the values, so where it is written is not known",
    "resource_claims_off_its_nodes": "other nodes or the switch of the controller is a choice",
    "selected_labels_exist": "what stands in the place of a label is a choice",
    "selector_values_hold_no_comma": "a comma may be part of the value",
    "terraform_adds_beside": "the addresses in Terraform's state are not in the cluster",
    "ubuntu_images_named": "which image runs is a choice",
    "workloads_select_current_labels": "an affinity or a spread is written anew as a whole",
}
"""Why no command can make the fix."""
ONLY_LOOKS: Mapping[str, str] = {
    "claims_join_their_nodes": "why a node does not register is seen on the instance",
    "conversion_webhook_resolves": "the right Service is called, and why its pods are not ready is seen in the cluster",
    "custom_images_register": "a node that registers shows it, and only time brings one",
    "gitops_applies_current_versions": "the source that the tool applies is not in the cluster",
    "instance_profiles_have_roles": "which role a profile holds stands in IAM; test_fixes_in_aws.py puts one into it",
    "hashes_not_newer": "the controller writes its own hash versions by itself",
    "node_roles_may_join": "access entries stand in EKS; test_fixes_in_aws.py runs what makes a role, and an entry",
    "one_controller_runs": "who runs beside it is seen first",
    "pools_and_classes_ready": "the conditions of the objects say what is missing, mostly in AWS",
}
"""Fixes of single causes that read and change nothing, and what settles the cause."""
NOT_READ: Mapping[str, str] = {
    "controller_off_its_nodes": "pods are read in groups, so that one of them cannot be shown gone",
}
"""Fixes of objects that a scan does not keep one by one."""
OWN_ACTIONS: Mapping[str, str] = {
    "pools_admit_provisioner_pods": "the action converts, previews and asks; its tests run it on a server",
}
"""Fixes that are an action of karpdash."""
BESIDE: Mapping[str, tuple[frozenset[str], str]] = {
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
        "for_a_person": FOR_A_PERSON.keys(),
        "reads_only": ONLY_LOOKS.keys(),
        "own_action": OWN_ACTIONS.keys(),
        "kind_not_read": NOT_READ.keys(),
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
    assert len(proven) >= 50


def test_what_kubectl_alone_clears_is_run_on_a_server() -> None:
    assert {fault.of for fault in FAULTS if by_kubectl_alone(fault)} == {
        *ON_SERVER, *ALONE, *GUARDED, *NEWER_KUBECTL, *UNSEEN_THERE,
    }  # fmt: skip
