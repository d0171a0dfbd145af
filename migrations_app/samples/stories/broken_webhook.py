"""Karpenter 1.0 outside kube-system: the CRDs' conversion webhook calls a Service that does not exist."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Crds, Install, controller, crds, helm_record
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, claim, node_class, pool
from migrations_app.samples.story import Story

TAGGED = {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}

site = ClusterBuilder("games-prod", "1.30", region="us-east-1")
system = site.node_group("system", 3)
general = site.launched("general", 4)
for launched in general:
    site.add(*claim(launched, node_class="default", version="v1", born_as="v1beta1", annotations=TAGGED))
nodes = [instance.node for instance in general]
site.add_ons([*system, *nodes])
install = Install(
    cluster=site.name,
    version="1.0.14",
    namespace="karpenter",
    values={"settings": {"clusterName": site.name}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "karpenter",
        "CLUSTER_NAME": site.name,
        "DISABLE_WEBHOOK": "false",
        "LOG_OUTPUT_PATHS": "stdout",
        "FEATURE_GATES": "SpotToSpotConsolidation=false",
    },
)
site.add(
    pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1"),
    node_class("default", cluster=site.name, version="v1"),
    *crds(Crds(version="1.0.14", stored=("v1beta1", "v1"), service=("kube-system", "karpenter"))),
    *controller(install, system),
    helm_record(install),
)
site.deploy("matchmaker", "games", replicas=6, nodes=nodes, spare=2)
site.deploy("lobby", "games", replicas=4, nodes=nodes, spare=0)
site.hash_as(install.version)

UNCONVERTED = (
    "conversion webhook for karpenter.sh/v1beta1, Kind=NodeClaim failed: "
    'Post "https://karpenter.kube-system.svc:8443/conversion/karpenter.sh?timeout=30s": service "karpenter" not found'
)
story = Story(
    name="broken_webhook",
    title="Games, conversion webhook astray",
    about="1.0.14 in namespace karpenter with CRDs from the main chart, whose conversion calls kube-system/karpenter.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("1.0", namespace="karpenter"),
    refused={"nodeclaims": ("conversion_failed", UNCONVERTED)},
)
