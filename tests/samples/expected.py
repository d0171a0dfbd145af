"""What an operator who knows Karpenter would say about each story."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.builders.newest import NEWEST_MINOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The operator's answer. `verdicts` are by hop, in the order of the road, the landed one first; `blockers` names
    the checks that are open blockers at the next hop."""

    stage: str
    verdicts: Mapping[str, str] = field(default_factory=dict)
    blockers: tuple[str, ...] = ()


EXPECTED = {
    "alpha_030": Expected(
        stage="alpha",
        verdicts={
            "0.31": "ready_with_warnings",
            "0.32": "blocked",
            "0.33+": "blocked",
            "1.0": "blocked",
            "1.1+": "later",  # 1.0 rewrites what is stored, and nothing else stands in its way
            NEWEST_MINOR: "later",  # the rights that it needs are attached at the hops before
        },
        blockers=(),
    ),
    "beta_037": Expected(
        stage="beta_v1",
        verdicts={"0.33+": "done", "1.0": "ready", "1.1+": "later", NEWEST_MINOR: "later"},
        blockers=(),
    ),
    "broken_webhook": Expected(
        stage="beta_v1",
        verdicts={"1.0": "in_progress", "1.1+": "blocked", NEWEST_MINOR: "later"},
        blockers=(
            "claims_tagged_with_cluster",
            "conversion_webhook_resolves",
            "karpenter_lists_answer",
            "node_class_references_complete",
            "stored_versions_clean",
        ),
    ),
    "forbidden": Expected(
        stage="unknown",
        verdicts={"0.33+": "needs_facts", "1.0": "needs_facts", "1.1+": "needs_facts", NEWEST_MINOR: "needs_facts"},
        blockers=(
            "admission_webhooks_current",
            "conversion_webhook_resolves",
            "crd_fields_current",
            "crds_match_controller",
            "crds_not_terminating",
            "crds_served",
            "expired_claims_gone",
            "iam_change_known",
            "karpenter_lists_answer",
        ),
    ),
    "halfway_032": Expected(
        stage="mixed",
        verdicts={
            "0.32": "in_progress",
            "0.33+": "blocked",
            "1.0": "blocked",
            "1.1+": "later",
            NEWEST_MINOR: "later",
        },
        blockers=(
            "alpha_crds_outlive_chart",
            "controller_permitted",
            "instances_listed_after_hop",
            "legacy_machines_gone",
            "legacy_node_templates_gone",
            "legacy_provisioners_gone",
            "nodes_owned_by_nodeclaims",
            "workloads_select_current_labels",
        ),
    ),
    "no_karpenter": Expected(stage="no_karpenter", verdicts={}, blockers=()),
    "old_settings": Expected(
        stage="beta_v1",
        verdicts={"0.33+": "blocked", "1.0": "blocked", "1.1+": "later", NEWEST_MINOR: "needs_facts"},
        blockers=("admission_webhooks_current", "conversion_webhook_on"),
    ),
    "v1_13": Expected(stage="v1", verdicts={"1.3": "done", NEWEST_MINOR: "ready_with_warnings"}, blockers=()),
    "v1_beta_stored": Expected(
        stage="beta_v1",
        verdicts={"1.0": "in_progress", "1.1+": "blocked", NEWEST_MINOR: "later"},
        blockers=(
            "claims_tagged_with_cluster",
            "compatibility_annotations_gone",
            "instances_listed_after_hop",
            "stored_versions_clean",
        ),
    ),
    "v1_newest": Expected(stage="v1", verdicts={NEWEST_MINOR: "done"}, blockers=()),
}
"""By the name of the story. The last hop is the newest minor, whichever it is."""
