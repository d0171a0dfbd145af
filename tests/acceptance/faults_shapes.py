"""Faults in the shapes that people have: text of kubectl, conditions, rules of Prometheus, marks of tools."""

from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance.own_objects import ALPHA_IS_LEFT, CLAIM, CLASS, POOL, TEMPLATE, alpha_left, claim_name, of
from tests.acceptance.planting import Document, Fault, add, all_of, every, first, put
from tests.builders.newest import NEWEST_MINOR

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TRACKING = "argocd.argoproj.io/tracking-id"
HASH = "karpenter.sh/provisioner-hash"
RULE = {
    "kind": "PrometheusRule",
    "namespace": "monitoring",
    "object": "karpenter",
    "path": "spec.groups[g].rules[X].expr",
}


def _rule(expression: str) -> Document:
    groups = [{"name": "g", "rules": [{"alert": "X", "expr": expression}]}]
    metadata = meta("karpenter", "monitoring")
    return doc("monitoring.coreos.com/v1", "PrometheusRule", metadata=metadata, spec={"groups": groups})


def _alpha_left_without_hash(documents: list[Document]) -> None:
    alpha_left(documents)
    for machine in every(documents, "Machine"):
        del machine["metadata"]["annotations"][HASH]


def _alpha_left_beside_a_tainted_pool(documents: list[Document]) -> None:
    alpha_left(documents)
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    put(POOL, "default", "spec/template/spec/taints", [taint])(documents)


SHAPE_FAULTS = (
    Fault(
        of="v1beta1-dropped",
        on="v1-10",
        plant=put(
            POOL,
            "default",
            f"metadata/annotations/{APPLIED.replace('/', '~')}",
            '{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"default"}}\n',
        ),
        check="gitops_applies_current_versions",
        **of(POOL, f"metadata.annotations[{APPLIED}]"),
    ),
    Fault(
        of="class without a family",
        on="v1-13",
        plant=put(CLASS, "default", "spec/amiSelectorTerms", [{"tags": {"team": "x"}}]),
        check="image_terms_valid",
        **of(CLASS, "spec.amiFamily"),
    ),
    Fault(
        of="ROLL-17",
        on="beta-033",
        plant=put(
            POOL, "default", f"metadata/annotations/{TRACKING.replace('/', '~')}", "web:karpenter.sh/NodePool:/default"
        ),
        check="argocd_waits_for_no_beta",
        **of(POOL, "status.conditions"),
    ),
    Fault(
        of="forceful-expiration",
        on="beta-037-read-as-beta",
        plant=first(
            CLAIM,
            "status/conditions",
            [{"type": one, "status": "True"} for one in ("Launched", "Registered", "Initialized", "Expired")],
        ),
        check="expired_claims_gone",
        **of(CLAIM, "metadata.creationTimestamp", claim_name("beta-037-read-as-beta")),
    ),
    Fault(
        of="expired within a day",
        on="beta-037",
        plant=all_of(
            put(POOL, "default", "spec/template/spec/expireAfter", "24h0m0s"),
            put(CLAIM, "", "spec/expireAfter", "24h0m0s"),
        ),
        check="expired_claims_gone",
        **of(CLAIM, "metadata.creationTimestamp", claim_name("beta-037")),
    ),
    Fault(
        of="selectors-to-terms",
        on="alpha-031",
        plant=put(TEMPLATE, "default", "spec/subnetSelector", {"aws-ids": "subnet-1,subnet-2"}),
        check="selector_values_hold_no_comma",
        **of(TEMPLATE, "spec.subnetSelector[aws-ids]"),
    ),
    Fault(
        of="static-drift-alpha",
        on="finished-032",
        plant=_alpha_left_without_hash,
        check="drift_enabled_for_rollout",
        kind="Machine",
        object="default-pbj6v",
        path=f"metadata.annotations[{HASH}]",
        beside=tuple(ALPHA_IS_LEFT - {"drift_enabled_for_rollout"}),
    ),
    Fault(
        of="legacy-taint-needs-new-pool",
        on="finished-032",
        plant=_alpha_left_beside_a_tainted_pool,
        check="pools_admit_provisioner_pods",
        **of("Provisioner", "spec"),
        beside=tuple(ALPHA_IS_LEFT),
    ),
    Fault(
        of="crd-conversion-stanza-required",
        on="beta-037",
        plant=put("CustomResourceDefinition", "nodepools.karpenter.sh", "spec/conversion", {"strategy": "None"}),
        check="conversion_webhook_resolves",
        **of("CustomResourceDefinition", "spec.conversion.strategy", "nodepools.karpenter.sh"),
    ),
    Fault(
        of="metric-reason-snake-case",
        on="v1-10",
        hop=NEWEST_MINOR,
        plant=add(_rule('sum(karpenter_voluntary_disruption_eligible_nodes{reason="Underutilized"}) > 1')),
        check="alerts_name_current_metrics",
        **RULE,
    ),
    Fault(
        of="metric-ignored-pod-count",
        on="v1-13",
        plant=add(_rule("max(karpenter_ignored_pod_count) > 1")),
        check="alerts_name_current_metrics",
        **RULE,
    ),
    Fault(
        of="metric-liveness-reason",
        on="v1-18",
        plant=add(_rule('increase(karpenter_nodeclaims_disrupted_total{reason="liveness"}[5m]) > 0')),
        check="alerts_name_current_metrics",
        **RULE,
    ),
    Fault(
        of="metric-eviction-requests",
        on="v1-18",
        plant=add(_rule("rate(karpenter_nodes_eviction_requests_total[5m]) > 1")),
        check="alerts_name_current_metrics",
        **RULE,
    ),
)
