"""Faults of v1 pools, classes, claims and their nodes."""

from migrations_app.samples.kubernetes_objects import owner
from tests.acceptance.own_objects import CLAIM, CLASS, POOL, claim_name, node_name, of, requirement
from tests.acceptance.planting import Document, Fault, all_of, cut, every, first, one, put, without


def _bad_owner(documents: list[Document]) -> None:
    claim = one(documents, CLAIM)
    by = owner("NodePool", "default", api_version="karpenter.sh/v1beta1", controller=False)
    claim["metadata"]["ownerReferences"] = [by]


def _tainted(documents: list[Document]) -> None:
    node = next(n for n in every(documents, "Node") if "karpenter.sh/nodepool" in n["metadata"]["labels"])
    node["spec"]["taints"] = [{"effect": "NoExecute", "key": "karpenter.sh/unregistered"}]


def _written_by(manager: str, version: str) -> Document:
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:disruption": {}}},
        "time": "2026-09-20T10:00:00Z",
    }


def _long_class_name(documents: list[Document]) -> None:
    one(documents, CLASS, "default")["metadata"]["name"] = LONG_NAME
    for pool in every(documents, POOL):
        pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] = LONG_NAME
    for claim in every(documents, CLAIM):
        claim["spec"]["nodeClassRef"]["name"] = LONG_NAME


LONG_NAME = "nodes-of-" + "the-team-" * 7 + "a"
V1_FAULTS = (
    Fault(
        of="node-class-label",
        on="v1-10",
        plant=_long_class_name,
        check="class_names_fit_labels",
        **of(CLASS, "metadata.name", LONG_NAME),
    ),
    Fault(
        of="instance-cluster-name-tag",
        on="v1-10",
        plant=first(CLAIM, "metadata/annotations/compatibility.karpenter.k8s.aws~cluster-name-tagged", "false"),
        check="claims_tagged_with_cluster",
        **of(
            CLAIM,
            "metadata.annotations[compatibility.karpenter.k8s.aws/cluster-name-tagged]",
            claim_name("v1-10"),
        ),
    ),
    Fault(
        of="compat-annotations-dropped",
        on="v1-10",
        plant=put(
            POOL,
            "default",
            "metadata/annotations/compatibility.karpenter.sh~v1beta1-kubelet-conversion",
            '{"maxPods":42}',
        ),
        check="compatibility_annotations_gone",
        **of(POOL, "metadata.annotations[compatibility.karpenter.sh/v1beta1-kubelet-conversion]"),
    ),
    Fault(
        of="nodeclassref-group",
        on="v1-10",
        plant=cut(POOL, "default", "spec/template/spec/nodeClassRef/group"),
        check="node_class_references_complete",
        **of(POOL, "spec.template.spec.nodeClassRef.group"),
    ),
    Fault(
        of="ROLL-14",
        on="v1-10",
        plant=first(CLAIM, "spec/nodeClassRef", {"name": "default", "group": "", "kind": ""}),
        check="node_class_references_complete",
        **of(CLAIM, "spec.nodeClassRef.group", claim_name("v1-10")),
    ),
    Fault(
        of="ROLL-15",
        on="v1-10",
        plant=_bad_owner,
        check="claims_owned_by_current_version",
        **of(CLAIM, "metadata.ownerReferences", claim_name("v1-10")),
    ),
    Fault(
        of="ROLL-06",
        on="v1-10",
        plant=put(
            POOL, "default", "metadata/managedFields", [_written_by("kustomize-controller", "karpenter.sh/v1beta1")]
        ),
        check="gitops_applies_current_versions",
        **of(POOL, "metadata.managedFields"),
    ),
    Fault(
        of="consolidate-after-required",
        on="v1-10",
        plant=cut(POOL, "default", "spec/disruption/consolidateAfter"),
        check="consolidation_stated",
        **of(POOL, "spec.disruption.consolidateAfter"),
    ),
    Fault(
        of="bottlerocket-raid0",
        on="v1-10",
        plant=all_of(
            cut(CLASS, "default", "spec/amiFamily"),
            put(CLASS, "default", "spec/amiSelectorTerms", [{"alias": "bottlerocket@v1.20.0"}]),
            put(CLASS, "default", "spec/instanceStorePolicy", "RAID0"),
        ),
        check="bottlerocket_knows_raid0",
        **of(CLASS, "spec.amiSelectorTerms[0].alias"),
    ),
    Fault(
        of="neuron-accelerator-label",
        on="v1-10",
        plant=requirement("karpenter.k8s.aws/instance-accelerator-name", ["inferentia"]),
        check="accelerators_named_apart",
        **of(POOL, "spec.template.spec.requirements"),
    ),
    Fault(
        of="taint left",
        on="v1-10",
        plant=_tainted,
        check="no_taint_left_behind",
        kind="Node",
        object=node_name("v1-10"),
        path="spec.taints[karpenter.sh/unregistered]",
    ),
    Fault(
        of="ami-selector-terms-required",
        on="v1-13",
        plant=put(CLASS, "default", "spec/amiFamily", "Bottlerocket"),
        check="image_terms_valid",
        **of(CLASS, "spec.amiSelectorTerms[0].alias"),
    ),
    Fault(
        of="ROLL-09",
        on="v1-13",
        plant=put(CLASS, "default", "spec/amiSelectorTerms", [{"alias": "al2023@latest"}]),
        check="images_pinned",
        **of(CLASS, "spec.amiSelectorTerms[0].alias"),
    ),
    Fault(
        of="al2-end-at-1.33",
        on="v1-16",
        plant=put(CLASS, "default", "spec/amiSelectorTerms", [{"alias": "al2@v20241001"}]),
        check="image_families_outlive_hop",
        **of(CLASS, "spec.amiSelectorTerms[0].alias"),
    ),
    Fault(
        of="V1-03",
        on="v1-16",
        plant=first(
            CLAIM,
            "status/conditions",
            [{"type": "Registered", "status": "False", "reason": "UnregisteredTaintNotFound"}],
        ),
        check="custom_images_register",
        **of(CLAIM, "status.conditions[Registered].reason", claim_name("v1-16")),
        beside=("claims_join_their_nodes",),
    ),
    Fault(
        of="static-capacity-crd",
        on="v1-16",
        plant=put(POOL, "default", "spec/replicas", 3),
        check="static_pools_enabled",
        **of(POOL, "spec.replicas"),
    ),
    Fault(
        of="claims never join",
        on="v1-16",
        plant=all_of(
            first(CLAIM, "status/conditions", [{"type": "Launched", "status": "True"}]),
            first(CLAIM, "status/nodeName", ""),
        ),
        check="claims_join_their_nodes",
        **of(CLAIM, "status.conditions", claim_name("v1-16")),
    ),
    Fault(
        of="ROLL-13",
        on="v1-16",
        plant=without("Deployment", "karpenter"),
        check="finalizers_served",
        **of(POOL, "metadata.finalizers[karpenter.sh/termination]"),
        beside=("one_controller_runs",),
        open=(
            "controller_off_bad_patches",
            "controller_rights_minimal",
            "hop_start_runs",
            "running_release_known",
            "way_back_open",
        ),
    ),
)
