"""Karpenter 0.37 on its last patch, without problems: the next hop is 1.0."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import (
    HELM_LABEL,
    Crds,
    Install,
    admission_webhook,
    controller,
    crd_manifest,
    crds,
    helm_marks,
    helm_record,
)
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, SPOT, claim, node_class, pool
from migrations_app.samples.story import Story

site = ClusterBuilder("payments-prod", "1.29")
system = site.node_group("system", 3)
general = site.launched("general", 7)
spot = site.launched("spot", 4, capacity="spot", instance_type="m7g.2xlarge")
for launched in (*general, *spot):
    site.add(*claim(launched, node_class="default", version="v1", born_as="v1beta1"))
general_nodes, spot_nodes = [instance.node for instance in general], [instance.node for instance in spot]
site.add_ons([*system, *general_nodes, *spot_nodes])

site.add(
    pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1"),
    pool("spot", SPOT, LARGE_ENOUGH, node_class="default", version="v1"),
    node_class("default", cluster=site.name, version="v1", metadataOptions={"httpPutResponseHopLimit": 2}),
)
owned = crds(
    Crds(
        version="0.37.8",
        service=("kube-system", "karpenter"),
        labels=HELM_LABEL,
        annotations=helm_marks("karpenter-crd", "kube-system"),
    )
)
install = Install(
    cluster=site.name,
    version="0.37.8",
    values={"settings": {"clusterName": site.name, "interruptionQueue": site.name}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "CLUSTER_NAME": site.name,
        "INTERRUPTION_QUEUE": site.name,
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": "8443",
        "FEATURE_GATES": "Drift=true,SpotToSpotConsolidation=false",
    },
)
site.add(
    *owned,
    *controller(install, system),
    helm_record(install),
    helm_record(install, chart="karpenter-crd", manifest=crd_manifest([crd["metadata"]["name"] for crd in owned])),
    admission_webhook("validation.webhook.karpenter.sh", namespace="kube-system"),
    admission_webhook("validation.webhook.config.karpenter.sh", namespace="kube-system"),
    admission_webhook("validation.webhook.karpenter.k8s.aws", namespace="kube-system"),
    admission_webhook("defaulting.webhook.karpenter.k8s.aws", namespace="kube-system", mutating=True),
)

site.deploy("gateway", "payments", replicas=9, nodes=general_nodes, spare=2)
site.deploy("ledger", "payments", replicas=4, nodes=general_nodes, kind="StatefulSet", spare=1)
site.deploy(
    "settlement",
    "payments",
    replicas=3,
    nodes=general_nodes,
    annotations={"karpenter.sh/do-not-disrupt": "true"},
    placement={"nodeSelector": {"karpenter.sh/nodepool": "general"}},
)
site.deploy(
    "fraud-scoring",
    "payments",
    replicas=12,
    nodes=spot_nodes,
    placement={"nodeSelector": {"karpenter.sh/capacity-type": "spot"}},
)
site.hash_as(install.version)

story = Story(
    name="beta_037",
    title="Payments, ready for 1.0",
    about="0.37.8 with its own CRDs, conversion webhook and Helm releases in order; only v1beta1 is stored.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("0.37", "1.0"),
)
