"""Karpenter 0.32 with both generations: half of the nodes are replaced, Argo CD delivers."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Crds, Install, controller, crds
from migrations_app.samples.karpenter_objects import (
    LARGE_ENOUGH,
    ON_DEMAND,
    claim,
    machine,
    node_class,
    node_template,
    pool,
    provisioner,
)
from migrations_app.samples.kubernetes_objects import config_map, doc, meta
from migrations_app.samples.story import Story

site = ClusterBuilder("media-stage", "1.28")
system = site.node_group("system", 3)
old = site.launched("general", 4)
new = site.launched("general-beta", 5)
for launched in old:
    site.add(*machine(launched, template="general"))
for launched in new:
    site.add(*claim(launched, node_class="general", version="v1beta1"))
old_nodes, new_nodes = [instance.node for instance in old], [instance.node for instance in new]
site.add_ons([*system, *old_nodes, *new_nodes])

TRACKED = {"argocd.argoproj.io/tracking-id": "karpenter:apiextensions.k8s.io/CustomResourceDefinition:kube-system/crds"}
LEGACY = [{"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}]
site.add(
    provisioner("general", ON_DEMAND, LARGE_ENOUGH, template="general", taints=LEGACY),
    node_template("general", cluster=site.name),
    pool("general-beta", ON_DEMAND, LARGE_ENOUGH, node_class="general", version="v1beta1"),
    pool("encoders", LARGE_ENOUGH, node_class="general", version="v1beta1"),
    node_class("general", cluster=site.name, version="v1beta1"),
    *crds(Crds(version="0.32.10", annotations=TRACKED)),
)
settings = {
    "aws.clusterName": site.name,
    "aws.interruptionQueueName": site.name,
    "batchMaxDuration": "10s",
    "batchIdleDuration": "1s",
    "featureGates.driftEnabled": "false",
}
install = Install(
    cluster=site.name,
    version="0.32.10",
    helm=False,
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "CLUSTER_NAME": site.name,
        "INTERRUPTION_QUEUE": site.name,
        "FEATURE_GATES": "Drift=false",
        "BATCH_MAX_DURATION": "10s",
        "BATCH_IDLE_DURATION": "1s",
    },
    annotations={"argocd.argoproj.io/tracking-id": "karpenter:apps/Deployment:kube-system/karpenter"},
)
values = {"settings": {"clusterName": site.name, "interruptionQueue": site.name}}
source = {
    "repoURL": "oci://public.ecr.aws/karpenter",
    "chart": "karpenter",
    "targetRevision": "v0.32.10",
    "helm": {"valuesObject": values},
}
application = {
    "project": "platform",
    "source": source,
    "destination": {"namespace": "kube-system", "server": "https://kubernetes.default.svc"},
    "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
}
site.add(
    *controller(install, system),
    config_map("karpenter-global-settings", "kube-system", data=settings),
    doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=application),
)

site.deploy(
    "transcoder",
    "media",
    replicas=8,
    nodes=[*old_nodes, *new_nodes],
    annotations={"karpenter.sh/do-not-evict": "true", "karpenter.sh/do-not-disrupt": "true"},
)
site.deploy("api", "media", replicas=6, nodes=[*old_nodes, *new_nodes], spare=2)
site.deploy(
    "uploads",
    "media",
    replicas=4,
    nodes=old_nodes,
    placement={"nodeSelector": {"karpenter.sh/provisioner-name": "general"}},
)
site.deploy(
    "thumbnails",
    "media",
    replicas=5,
    nodes=new_nodes,
    placement={"nodeSelector": {"karpenter.sh/nodepool": "general-beta"}},
)
NOT_ON_KARPENTER = {"key": "karpenter.sh/provisioner-name", "operator": "DoesNotExist"}
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [NOT_ON_KARPENTER]}]}
site.deploy(
    "vault",
    "security",
    replicas=3,
    nodes=system,
    kind="StatefulSet",
    placement={"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}},
    spare=1,
)
site.hash_as(install.version)

story = Story(
    name="halfway_032",
    title="Media staging, both generations",
    about="0.32.10: four nodes behind Machines, five behind NodeClaims; Argo CD delivers, drift is off.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("0.32"),
)
