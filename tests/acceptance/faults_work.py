"""Faults of workloads, of what surrounds Karpenter, and of the tools that deliver it."""

import copy
import json
from typing import Any

from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance import nodes
from tests.acceptance.planting import Document, Fault, add, all_of, every, put, template_of

WEB: dict[str, Any] = {"kind": "Deployment", "object": "web", "namespace": "shop"}
SPEC = "spec.template.spec"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _absent(key: str) -> Document:
    term = {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def _spread(key: str) -> list[Document]:
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}]


def _workload(name: str, image: str, **more: Any) -> tuple[Document, ...]:
    spec = {"containers": [nodes.container(name, image, **more)]}
    made = nodes.workload("Deployment", name, "kube-system", pods=1, spec=spec)
    return (made, *nodes.pods_of(made, [nodes.node_name("x", 10)]))


def _rule(query: str) -> Document:
    spec = {"groups": [{"name": "karpenter", "rules": [{"alert": "Nodes", "expr": query}]}]}
    metadata = meta("karpenter-alerts", "monitoring")
    return doc("monitoring.coreos.com/v1", "PrometheusRule", metadata=metadata, spec=spec)


def _dashboard(query: str) -> Document:
    board = json.dumps({"title": "Karpenter", "panels": [{"title": "Nodes", "targets": [{"expr": query}]}]})
    metadata = meta("karpenter-board", "monitoring", labels={"grafana_dashboard": "1"})
    return doc("v1", "ConfigMap", metadata=metadata, data={"karpenter.json": board})


def _dns_on_its_nodes(documents: list[Document]) -> None:
    home = next(
        n["metadata"]["name"] for n in every(documents, "Node") if "karpenter.sh/nodepool" in n["metadata"]["labels"]
    )
    for pod in every(documents, "Pod"):
        if pod["metadata"]["name"].startswith("coredns-"):
            pod["spec"]["nodeName"] = home


def _claim_a_device(documents: list[Document]) -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    for pod in every(documents, "Pod", namespace="shop"):
        if pod["metadata"]["name"].startswith("web-"):
            pod["spec"]["resourceClaims"] = claims


def _zero(documents: list[Document]) -> None:
    for budget in every(documents, "PodDisruptionBudget", "web"):
        budget["spec"]["maxUnavailable"] = 0
        budget["status"] |= {"disruptionsAllowed": 0, "desiredHealthy": 4}


def _twice(documents: list[Document]) -> None:
    other = copy.deepcopy(every(documents, "PodDisruptionBudget", "web")[0])
    other["metadata"] |= {"name": "web-again", "uid": "again"}
    documents.append(other)


def _argo_marks(documents: list[Document]) -> None:
    for pool in every(documents, "NodePool"):
        pool["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = "pools:karpenter.sh/NodePool:/default"
        pool["metadata"].setdefault("labels", {})["kustomize.toolkit.fluxcd.io/name"] = "pools"
        pool["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/namespace"] = "flux-system"


def _terraform(documents: list[Document]) -> None:
    for pool in every(documents, "NodePool"):
        pool["metadata"]["managedFields"] = [
            {"manager": "Terraform", "operation": "Apply", "apiVersion": pool["apiVersion"], "fieldsType": "FieldsV1"}
        ]


DROPPED = {"karpenter.sh/do-not-evict": "true"}

WORK_FAULTS = (
    Fault(
        of="WL-01",
        on="finished-032",
        plant=template_of("Deployment", "web", "spec/nodeSelector", {"karpenter.sh/provisioner-name": "default"}),
        check="workloads_select_current_labels",
        path=f"{SPEC}.nodeSelector",
        **WEB,
    ),
    Fault(
        of="WL-02",
        on="finished-032",
        plant=template_of("Deployment", "web", "spec/affinity", _absent("karpenter.sh/provisioner-name")),
        check="workloads_select_current_labels",
        path=f"{SPEC}.affinity.nodeAffinity.required",
        **WEB,
    ),
    Fault(
        of="provisioner-name-selectors as spread key",
        on="finished-032",
        plant=template_of(
            "Deployment", "web", "spec/topologySpreadConstraints", _spread("karpenter.sh/provisioner-name")
        ),
        check="workloads_select_current_labels",
        path=f"{SPEC}.topologySpreadConstraints",
        **WEB,
    ),
    Fault(
        of="a label that no node has",
        on="finished-032",
        plant=template_of("Deployment", "web", "spec/nodeSelector", {"karpenter.k8s.aws/instance-pods": "110"}),
        check="selected_labels_exist",
        path=f"{SPEC}.nodeSelector",
        **WEB,
    ),
    Fault(
        of="WL-05",
        on="alpha-031",
        plant=template_of(
            "Deployment", "web", "spec/nodeSelector", {"failure-domain.beta.kubernetes.io/zone": "us-west-2a"}
        ),
        check="workloads_select_stable_labels",
        path=f"{SPEC}.nodeSelector",
        **WEB,
    ),
    Fault(
        of="WL-03",
        on="beta-037",
        plant=template_of("Deployment", "web", "metadata/annotations", DROPPED),
        check="retired_annotations_replaced",
        path="spec.template.metadata.annotations[karpenter.sh/do-not-evict]",
        **WEB,
    ),
    Fault(
        of="annotations-dropped-v1 on a pool",
        on="beta-037",
        plant=put(
            "NodePool",
            "default",
            "spec/template/metadata",
            {"annotations": {"karpenter.sh/do-not-consolidate": "true"}},
        ),
        check="retired_annotations_replaced",
        kind="NodePool",
        object="default",
        path="spec.template.metadata.annotations[karpenter.sh/do-not-consolidate]",
    ),
    Fault(
        of="disruption-taint-beta",
        on="alpha-031",
        plant=template_of(
            "Deployment",
            "web",
            "spec/tolerations",
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}],
        ),
        check="tolerations_name_current_taints",
        path=f"{SPEC}.tolerations",
        **WEB,
    ),
    Fault(
        of="disrupted-taint-v1",
        on="beta-037",
        plant=template_of(
            "Deployment", "web", "spec/tolerations", [{"key": "karpenter.sh/disruption", "operator": "Exists"}]
        ),
        check="tolerations_name_current_taints",
        path=f"{SPEC}.tolerations",
        **WEB,
    ),
    Fault(
        of="WL-06",
        on="beta-037",
        plant=_zero,
        check="pdbs_allow_disruption",
        kind="PodDisruptionBudget",
        object="web",
        namespace="shop",
        path="spec.maxUnavailable",
    ),
    Fault(
        of="WL-06 twice",
        on="beta-037",
        plant=_twice,
        check="one_budget_per_pod",
        path="metadata.labels",
        **WEB,
    ),
    Fault(
        of="WL-09",
        on="beta-037",
        plant=put("Pod", "ledger-0", "metadata/ownerReferences", []),
        check="pods_have_controllers",
        kind="Pod",
        object="ledger-0",
        namespace="shop",
        path="metadata.ownerReferences",
    ),
    Fault(
        of="WL-11",
        on="v1-10",
        plant=all_of(
            put("EC2NodeClass", "default", "spec/metadataOptions/httpPutResponseHopLimit", 1),
            add(*_workload("aws-load-balancer-controller", "registry.example/eks/aws-load-balancer-controller:v2.8.1")),
        ),
        check="metadata_reachable_for_pods",
        kind="Deployment",
        object="aws-load-balancer-controller",
        namespace="kube-system",
        path="spec.template.spec.containers",
    ),
    Fault(
        of="CTL-04",
        on="finished-032",
        plant=_dns_on_its_nodes,
        check="controller_dns_reachable",
        kind="Deployment",
        object="coredns",
        namespace="kube-system",
        path="spec.nodeName",
    ),
    Fault(
        of="CTL-06",
        on="beta-037",
        plant=add(*_workload("cluster-autoscaler", "registry.example/cluster-autoscaler:v1.29.0")),
        check="one_autoscaler_runs",
        kind="Deployment",
        object="cluster-autoscaler",
        namespace="kube-system",
        path="status.replicas",
    ),
    Fault(
        of="metrics-renamed-beta",
        on="finished-032",
        plant=add(_rule("rate(karpenter_machines_created[5m])")),
        check="alerts_name_current_metrics",
        kind="PrometheusRule",
        object="karpenter-alerts",
        namespace="monitoring",
        path="spec.groups[karpenter].rules[Nodes].expr",
    ),
    Fault(
        of="metrics-renamed-v1",
        on="beta-037",
        plant=add(_rule("sum(karpenter_nodes_terminated) > 5")),
        check="alerts_name_current_metrics",
        kind="PrometheusRule",
        object="karpenter-alerts",
        namespace="monitoring",
        path="spec.groups[karpenter].rules[Nodes].expr",
    ),
    Fault(
        of="resource-claims-ignored",
        on="v1-13",
        plant=_claim_a_device,
        check="resource_claims_off_its_nodes",
        path="spec.resourceClaims",
        **WEB,
    ),
    Fault(
        of="metric-pods-drained",
        on="v1-13",
        plant=add(_dashboard("karpenter_pods_pods_drained_total")),
        check="dashboards_name_current_metrics",
        kind="ConfigMap",
        object="karpenter-board",
        namespace="monitoring",
        path="data[karpenter.json]: Karpenter / Nodes",
    ),
    Fault(
        of="gitops-conversion-fight",
        on="beta-037",
        plant=_argo_marks,
        check="delivery_tools_agree",
        kind="NodePool",
        object="default",
        path="metadata",
    ),
    Fault(
        of="ROLL-04",
        on="beta-037",
        plant=_terraform,
        check="terraform_adds_beside",
        kind="NodePool",
        object="default",
        path="metadata.managedFields",
    ),
)
