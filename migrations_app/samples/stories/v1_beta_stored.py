"""Karpenter 1.0 with v1beta1 still listed in storedVersions; Flux delivers."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import (
    HELM_LABEL,
    Crds,
    Install,
    controller,
    crd_manifest,
    crds,
    helm_marks,
    helm_record,
)
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, claim, node_class, pool
from migrations_app.samples.kubernetes_objects import doc, meta
from migrations_app.samples.story import Story

KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
TAGGED = {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}

site = ClusterBuilder("search-prod", "1.31")
system = site.node_group("system", 3)
general = site.launched("general", 8)
for place, launched in enumerate(general):
    tagged = TAGGED if place < 6 else {}
    site.add(*claim(launched, node_class="default", version="v1", born_as="v1beta1", annotations=tagged))
nodes = [instance.node for instance in general]
site.add_ons([*system, *nodes])

FLUX = {"helm.toolkit.fluxcd.io/name": "karpenter", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
FLUX_CRD = {"helm.toolkit.fluxcd.io/name": "karpenter-crd", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
general_pool = pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1")
general_pool["metadata"]["annotations"][KUBELET] = '{"maxPods":58}'
general_pool["metadata"]["labels"] = {
    "kustomize.toolkit.fluxcd.io/name": "platform",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
owned = crds(
    Crds(
        version="1.0.14",
        stored=("v1beta1", "v1"),
        service=("kube-system", "karpenter"),
        labels=HELM_LABEL | FLUX_CRD,
        annotations=helm_marks("karpenter-crd", "kube-system"),
    )
)
install = Install(
    cluster=site.name,
    version="1.0.14",
    values={"settings": {"clusterName": site.name, "interruptionQueue": site.name}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "CLUSTER_NAME": site.name,
        "INTERRUPTION_QUEUE": site.name,
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": "8443",
        "LOG_OUTPUT_PATHS": "stdout",
        "FEATURE_GATES": "SpotToSpotConsolidation=false",
    },
    labels=FLUX,
)
chart = {
    "spec": {"chart": "karpenter", "version": "1.0.14", "sourceRef": {"kind": "HelmRepository", "name": "karpenter"}}
}
release = {
    "interval": "30m",
    "targetNamespace": "kube-system",
    "chart": chart,
    "install": {"crds": "Skip"},
    "upgrade": {"crds": "Skip"},
    "values": install.values,
}
site.add(
    general_pool,
    node_class("default", cluster=site.name, version="v1"),
    *owned,
    *controller(install, system),
    helm_record(install),
    helm_record(install, chart="karpenter-crd", manifest=crd_manifest([crd["metadata"]["name"] for crd in owned])),
    doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=release),
)

site.deploy("indexer", "search", replicas=6, nodes=nodes, annotations={"karpenter.sh/do-not-disrupt": "true"})
site.deploy("query", "search", replicas=16, nodes=nodes, spare=4)
site.deploy("shards", "search", replicas=5, nodes=nodes, kind="StatefulSet", spare=1)
site.hash_as(install.version)

story = Story(
    name="v1_beta_stored",
    title="Search, v1beta1 still stored",
    about="1.0.14 under Flux; the CRDs still list v1beta1 as stored, one pool carries a kubelet block of old.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("1.0", "1.1"),
)
