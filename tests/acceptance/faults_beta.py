"""Faults of v1beta1 pools, classes, claims and their nodes."""

import copy
from typing import Any

from tests.acceptance.own_objects import (
    ALPHA_IS_LEFT,
    CLAIM,
    CLASS,
    POOL,
    alpha_left,
    claim_name,
    node_name,
    of,
    requirement,
    without_requirement,
)
from tests.acceptance.planting import Document, Fault, Plant, all_of, cut, first, one, put

NODE_CONFIG = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: {config: {maxPods: 42}}\n"
CUSTOM = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--max-pods=110'\n"


def _second_pool(**changes: Any) -> Plant:
    """Another pool on the same class."""

    def plant(documents: list[Document]) -> None:
        pool = copy.deepcopy(one(documents, POOL, "default"))
        pool["metadata"] |= {"name": "second", "uid": "second"}
        pool["spec"]["template"]["spec"] |= changes
        documents.append(pool)

    return plant


def another_class(documents: list[Document]) -> None:
    """A class without nodes, whose role aws-auth does not name."""
    made = copy.deepcopy(one(documents, CLASS, "default"))
    made["metadata"] |= {"name": "another", "uid": "another"}
    made["spec"]["role"] = "AnotherNodeRole"
    documents.append(made)


def _orphan(documents: list[Document]) -> None:
    """A node that says it is Karpenter's, whose claim is gone."""
    claim = one(documents, CLAIM)
    documents.remove(claim)


def _expired(documents: list[Document]) -> None:
    claim = one(documents, CLAIM)
    claim["metadata"]["creationTimestamp"] = "2026-07-01T00:00:00Z"


BETA_FAULTS = (
    Fault(
        of="selector-tags-no-comma",
        on="finished-032",
        plant=put(CLASS, "default", "spec/subnetSelectorTerms/0/tags/Name", "one,two"),
        check="selector_values_hold_no_comma",
        **of(CLASS, "spec.subnetSelectorTerms[0].tags[Name]"),
    ),
    Fault(
        of="class without identity",
        on="finished-032",
        plant=cut(CLASS, "default", "spec/role"),
        check="node_classes_have_one_identity",
        **of(CLASS, "spec.role"),
    ),
    Fault(
        of="CONV-05",
        on="finished-032",
        plant=put(CLASS, "default", "spec/role", "$KARPENTER_NODE_ROLE"),
        check="node_roles_may_join",
        **of(CLASS, "spec.role"),
        beside=("node_classes_have_one_identity",),
        open=("instance_profiles_named_exist",),
    ),
    Fault(
        of="CONV-10",
        on="finished-032",
        plant=another_class,
        check="node_roles_may_join",
        **of(CLASS, "", "another"),
        status="manual",
    ),
    Fault(
        of="duration-format",
        on="finished-032",
        plant=put(POOL, "default", "spec/disruption/expireAfter", "30d"),
        check="durations_accepted",
        **of(POOL, "spec.disruption.expireAfter"),
    ),
    Fault(
        of="nodepool-resources-forbidden",
        on="finished-032",
        plant=put(POOL, "default", "spec/template/spec/resources", {"requests": {"cpu": "1"}}),
        check="pool_templates_ask_no_resources",
        **of(POOL, "spec.template.spec.resources"),
    ),
    Fault(
        of="provisioner-name-selectors on a pool",
        on="finished-032",
        plant=put(POOL, "default", "spec/template/metadata", {"labels": {"karpenter.sh/provisioner-name": "a"}}),
        check="pool_keys_accepted",
        **of(POOL, "spec.template.metadata.labels[karpenter.sh/provisioner-name]"),
    ),
    Fault(
        of="instance-pods-label-dropped",
        on="finished-032",
        plant=requirement("karpenter.k8s.aws/instance-pods", ["110"]),
        check="pool_keys_accepted",
        **of(POOL, "spec.template.spec.requirements[5].key"),
        beside=("selected_labels_exist",),
    ),
    Fault(
        of="requirement-defaults-dropped",
        on="finished-032",
        plant=without_requirement(POOL, "karpenter.sh/capacity-type"),
        check="pools_state_capacity_type",
        **of(POOL, "spec.template.spec.requirements"),
    ),
    Fault(
        of="AWS-01",
        on="finished-032",
        plant=all_of(alpha_left, put(POOL, "default", "spec/limits", {"cpu": "12"})),
        check="pools_have_room",
        **of(POOL, "spec.limits.cpu"),
        beside=tuple(sorted(ALPHA_IS_LEFT)),
    ),
    Fault(
        of="weight",
        on="finished-032",
        plant=put(POOL, "default", "spec/weight", 200),
        check="limits_and_weights_valid",
        **of(POOL, "spec.weight"),
    ),
    Fault(
        of="nodeclassref-group",
        on="beta-037-read-as-beta",
        plant=put(POOL, "default", "spec/template/spec/nodeClassRef/kind", "AWSNodeTemplate"),
        check="node_classes_of_pools_exist",
        **of(POOL, "spec.template.spec.nodeClassRef.kind"),
    ),
    Fault(
        of="budgets at zero",
        on="beta-037",
        plant=put(POOL, "default", "spec/disruption/budgets", [{"nodes": "0"}]),
        check="budgets_let_nodes_go",
        **of(POOL, "spec.disruption.budgets[0].nodes"),
    ),
    Fault(
        of="ROLL-16",
        on="beta-033",
        plant=_orphan,
        check="nodes_owned_by_nodeclaims",
        kind="Node",
        object=node_name("beta-033"),
        path="metadata.ownerReferences",
    ),
    Fault(
        of="ROLL-12",
        on="beta-033",
        plant=first(CLAIM, "metadata/deletionTimestamp", "2026-09-20T10:00:00Z"),
        check="nothing_stuck_deleting",
        **of(CLAIM, "metadata.finalizers", claim_name("beta-033")),
    ),
    Fault(
        of="ubuntu-22.04-ami",
        on="beta-037-read-as-beta",
        plant=all_of(put(CLASS, "default", "spec/amiFamily", "Ubuntu"), cut(CLASS, "default", "spec/amiSelectorTerms")),
        check="ubuntu_images_named",
        **of(CLASS, "spec.amiFamily"),
    ),
    Fault(
        of="unregistered-taint",
        on="beta-037-read-as-beta",
        plant=all_of(put(CLASS, "default", "spec/amiFamily", "Custom"), put(CLASS, "default", "spec/userData", CUSTOM)),
        check="custom_images_tainted",
        **of(CLASS, "spec.userData"),
    ),
    Fault(
        of="al2023-nodeconfig-precedence",
        on="beta-037",
        plant=all_of(
            put(CLASS, "default", "spec/amiFamily", "AL2023"),
            put(
                CLASS,
                "default",
                "spec/userData",
                NODE_CONFIG,
            ),
        ),
        check="node_config_left_to_karpenter",
        **of(CLASS, "spec.userData"),
    ),
    Fault(
        of="al2023-gpu-discovery",
        on="beta-037-read-as-beta",
        plant=all_of(
            put(CLASS, "default", "spec/amiFamily", "AL2023"),
            cut(CLASS, "default", "spec/amiSelectorTerms"),
            requirement("karpenter.k8s.aws/instance-gpu-count", ["1"]),
        ),
        check="gpu_pools_name_images",
        **of(POOL, "spec.template.spec.requirements"),
    ),
    Fault(
        of="kubelet-moved",
        on="beta-037-read-as-beta",
        plant=put(POOL, "default", "spec/template/spec/kubelet", {"maxPods": 42}),
        check="kubelet_settings_in_classes",
        **of(POOL, "spec.template.spec.kubelet"),
    ),
    Fault(
        of="V1-01",
        on="beta-037-read-as-beta",
        plant=all_of(
            put(POOL, "default", "spec/template/spec/kubelet", {"maxPods": 42}),
            _second_pool(kubelet={"maxPods": 110}),
        ),
        check="kubelet_settings_in_classes",
        **of(POOL, "spec.template.spec.kubelet", "second"),
    ),
    Fault(
        of="WL-07",
        on="beta-037",
        plant=_expired,
        check="expired_claims_gone",
        **of(CLAIM, "metadata.creationTimestamp", claim_name("beta-037")),
    ),
    Fault(
        of="readiness-conditions",
        on="beta-037",
        plant=put(CLASS, "default", "status/conditions/4/status", "False"),
        check="pools_and_classes_ready",
        **of(CLASS, "status.conditions[Ready].status"),
    ),
    Fault(
        of="rollback-hash-version-0.36",
        on="beta-037",
        plant=put(POOL, "default", "metadata/annotations/karpenter.sh~nodepool-hash-version", "v3"),
        check="hashes_not_newer",
        **of(POOL, "metadata.annotations[karpenter.sh/nodepool-hash-version]"),
    ),
    Fault(
        of="nodeclaim-condition-reason",
        on="beta-037",
        plant=first(CLAIM, "status/conditions", [{"type": "Launched", "status": "True", "reason": ""}]),
        check="condition_reasons_given",
        **of(CLAIM, "status.conditions[].reason", claim_name("beta-037")),
        beside=("claims_join_their_nodes",),
    ),
)
