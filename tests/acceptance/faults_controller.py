"""Faults of the running controller: its release, place, size, rights, ports and what older charts left."""

import copy

from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance import clusters
from tests.acceptance.nodes import container, workload
from tests.acceptance.places import DEPLOYMENT, HOME, IMAGE, OLD, of_deployment
from tests.acceptance.planting import Document, Fault, Plant, add, all_of, every, one, put, running, without


def _copy_of_controller(documents: list[Document]) -> None:
    other = copy.deepcopy(one(documents, DEPLOYMENT, "karpenter"))
    other["metadata"] |= {"namespace": "karpenter", "uid": "other"}
    documents.append(other)


def _one_zone(documents: list[Document]) -> None:
    for node in every(documents, "Node"):
        if "eks.amazonaws.com/nodegroup" in node["metadata"]["labels"]:
            node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "us-west-2a"


def _on_its_own_nodes(documents: list[Document]) -> None:
    home = next(n for n in every(documents, "Node") if "karpenter.sh/nodepool" in n["metadata"]["labels"])
    for pod in every(documents, "Pod"):
        if pod["metadata"]["name"].startswith("karpenter-"):
            pod["spec"]["nodeName"] = home["metadata"]["name"]


def _pod_name(cluster: str) -> str:
    found = clusters.objects(clusters.find(cluster))
    names = (each["metadata"]["name"] for each in found if each["kind"] == "Pod")
    return next(str(name) for name in names if name.startswith("karpenter-"))


def _without_right(role: str, resource: str, verb: str) -> Plant:
    def plant(documents: list[Document]) -> None:
        for rule in one(documents, "ClusterRole", role)["rules"]:
            if resource in rule["resources"]:
                rule["verbs"] = [each for each in rule["verbs"] if each != verb]

    return plant


def _network_policy(port: int, *, namespace: str) -> Document:
    spec = {
        "ingress": [{"ports": [{"port": port, "protocol": "TCP"}]}],
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "karpenter"}},
        "policyTypes": ["Ingress"],
    }
    return doc("networking.k8s.io/v1", "NetworkPolicy", metadata=meta("karpenter", namespace), spec=spec)


def _network_plugin(name: str) -> Document:
    spec = {"containers": [container(name, f"registry.example/{name}:v3.27.2")], "hostNetwork": True}
    return workload("DaemonSet", name, "kube-system", pods=6, spec=spec, pod_labels={"k8s-app": name})


def _stale_webhook() -> Document:
    service = {"name": "karpenter", "namespace": "kube-system", "port": 8443}
    hook = {"name": "validation.webhook.karpenter.sh", "clientConfig": {"service": service}, "failurePolicy": "Fail"}
    metadata = meta("validation.webhook.karpenter.sh", labels={"app.kubernetes.io/managed-by": "Helm"})
    return doc("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", metadata=metadata, webhooks=[hook])


def _hook_job() -> Document:
    spec = {"template": {"spec": {"containers": [{"name": "kubectl", "image": "registry.example/kubectl"}]}}}
    status = {"failed": 3, "conditions": [{"type": "Failed", "status": "True"}]}
    metadata = meta("karpenter-post-install-hook", "kube-system", labels={"app.kubernetes.io/name": "karpenter"})
    return doc("batch/v1", "Job", metadata=metadata, spec=spec, status=status)


CONTROLLER_FAULTS = (
    Fault(
        of="kubernetes-1.26-incompatible-0.28.0",
        on="alpha-028",
        plant=running("0.28.0"),
        check="controller_off_bad_patches",
        **of_deployment(IMAGE, **OLD),
    ),
    Fault(
        of="service-ports-0.29",
        on="alpha-028",
        plant=add(_network_policy(443, namespace="karpenter")),
        check="ports_open",
        kind="NetworkPolicy",
        object="karpenter",
        path="spec.ingress",
        **OLD,
    ),
    Fault(
        of="version-outside-matrix",
        on="alpha-031",
        plant=all_of(),
        kubernetes="1.31",
        check="kubernetes_inside_window",
        beside=("running_release_fits_kubernetes",),
        kind="Cluster",
        object="alpha-031",
        path="gitVersion",
    ),
    Fault(
        of="IAM-06",
        on="beta-033",
        plant=_copy_of_controller,
        check="one_controller_runs",
        **of_deployment("metadata.namespace", namespace="karpenter"),
    ),
    Fault(
        of="CTL-01",
        on="beta-033",
        plant=_on_its_own_nodes,
        check="controller_off_its_nodes",
        kind="Pod",
        object=_pod_name("beta-033"),
        path="spec.nodeName",
        **HOME,
    ),
    Fault(
        of="CTL-02",
        on="beta-033",
        plant=all_of(
            put(DEPLOYMENT, "karpenter", "status/readyReplicas", 1),
            put(DEPLOYMENT, "karpenter", "status/unavailableReplicas", 1),
        ),
        check="one_controller_runs",
        **of_deployment("status.readyReplicas", **HOME),
    ),
    Fault(
        of="topology-spread-required",
        on="beta-037",
        plant=_one_zone,
        check="controller_runs_redundantly",
        **of_deployment("spec.template.spec.topologySpreadConstraints", **HOME),
    ),
    Fault(
        of="CTL-03",
        on="beta-037",
        plant=put(DEPLOYMENT, "karpenter", "spec/template/spec/containers/0/resources/limits/memory", "256Mi"),
        check="controller_resources_sized",
        **of_deployment("spec.template.spec.containers[controller].resources.limits.memory", **HOME),
    ),
    Fault(
        of="rbac-v1",
        on="v1-10",
        plant=_without_right("karpenter-core", "pods", "delete"),
        check="controller_rbac_current",
        kind="ClusterRole",
        object="bound to the controller",
        path="rules[pods]",
    ),
    Fault(
        of="PATH-05",
        on="beta-037",
        plant=running("0.37.2"),
        check="controller_off_bad_patches",
        **of_deployment(IMAGE, **HOME),
        hop="0.33+",
    ),
    Fault(
        of="unsafe patch of 1.0",
        on="v1-10",
        plant=running("1.0.3"),
        check="controller_off_bad_patches",
        **of_deployment(IMAGE, **HOME),
        hop="1.0",
    ),
    Fault(
        of="topology-spread-regression-1.8.4",
        on="v1-18",
        plant=running("1.8.4"),
        check="controller_off_bad_patches",
        **of_deployment(IMAGE, **HOME),
    ),
    Fault(
        of="stale-admission-webhooks",
        on="v1-10",
        plant=add(_stale_webhook()),
        check="admission_webhooks_current",
        kind="ValidatingWebhookConfiguration",
        object="validation.webhook.karpenter.sh",
    ),
    Fault(
        of="post-install-hook",
        on="beta-037",
        plant=add(_hook_job()),
        check="hook_jobs_finished",
        kind="Job",
        object="karpenter-post-install-hook",
        path="status.succeeded",
        **HOME,
    ),
    Fault(
        of="webhooks-on-again",
        on="beta-037",
        plant=add(_network_policy(8080, namespace="kube-system")),
        check="ports_open",
        kind="NetworkPolicy",
        object="karpenter",
        path="spec.ingress",
        **HOME,
    ),
    Fault(
        of="CRD-07",
        on="beta-037",
        plant=put(DEPLOYMENT, "karpenter", "spec/template/metadata/labels/sidecar.istio.io~inject", "true"),
        check="controller_outside_mesh",
        **of_deployment("spec.template.metadata.labels[sidecar.istio.io/inject]", **HOME),
    ),
    Fault(
        of="CRD-07",
        on="beta-033",
        plant=all_of(without("DaemonSet", "aws-node"), add(_network_plugin("calico-node"))),
        check="controller_outside_overlay",
        **of_deployment("spec.template.spec.hostNetwork", **HOME),
    ),
)
