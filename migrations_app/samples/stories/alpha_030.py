"""Karpenter 0.30 with Provisioners only; the upgrade to v1beta1 has not started."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Crds, Install, controller, crds, helm_record
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, SPOT, machine, node_template, provisioner
from migrations_app.samples.kubernetes_objects import config_map
from migrations_app.samples.story import Story

site = ClusterBuilder("shop-prod", "1.26")
system = site.node_group("system", 3)
web = site.launched("web", 6)
batch = site.launched("batch", 4, capacity="spot", instance_type="c6i.4xlarge")
for place, launched in enumerate(web):
    site.add(*machine(launched, template="default", hashed=place > 1))
for launched in batch:
    site.add(*machine(launched, template="default"))
web_nodes, batch_nodes = [instance.node for instance in web], [instance.node for instance in batch]
site.add_ons([*system, *web_nodes, *batch_nodes])

site.add(
    provisioner("web", ON_DEMAND, LARGE_ENOUGH, template="default", weight=10),
    provisioner("batch", SPOT, LARGE_ENOUGH, template="default", ttlSecondsUntilExpired=604800),
    node_template("default", cluster=site.name, tags={"team": "shop"}),
    *crds(Crds(version="0.30.0")),
)
settings = {
    "aws.clusterName": site.name,
    "aws.defaultInstanceProfile": f"KarpenterNodeInstanceProfile-{site.name}",
    "aws.interruptionQueueName": site.name,
    "aws.vmMemoryOverheadPercent": "0.075",
    "batchMaxDuration": "10s",
    "batchIdleDuration": "1s",
    "featureGates.driftEnabled": "false",
}
aws = {
    "clusterName": site.name,
    "defaultInstanceProfile": f"KarpenterNodeInstanceProfile-{site.name}",
    "interruptionQueueName": site.name,
}
install = Install(
    cluster=site.name,
    version="0.30.0",
    namespace="karpenter",
    values={"logEncoding": "console", "settings": {"aws": aws}},
    env={"KUBERNETES_MIN_VERSION": "1.19.0-0", "KARPENTER_SERVICE": "karpenter", "SYSTEM_NAMESPACE": "karpenter"},
)
site.add(
    *controller(install, system),
    helm_record(install),
    config_map("karpenter-global-settings", "karpenter", data=settings),
)

WEB_ONLY = {"nodeSelector": {"karpenter.sh/provisioner-name": "web"}}
BATCH_ONLY = {"nodeSelector": {"karpenter.sh/provisioner-name": "batch"}}
site.deploy("storefront", "shop", replicas=12, nodes=web_nodes, placement=WEB_ONLY, spare=3)
site.deploy("checkout", "shop", replicas=6, nodes=web_nodes, placement=WEB_ONLY, spare=1)
site.deploy("orders-db", "shop", replicas=3, nodes=web_nodes, kind="StatefulSet", spare=0)
site.deploy(
    "nightly-report",
    "batch",
    replicas=8,
    nodes=batch_nodes,
    placement=BATCH_ONLY,
    annotations={"karpenter.sh/do-not-evict": "true"},
)
site.deploy("search", "shop", replicas=9, nodes=web_nodes, spare=2)

story = Story(
    name="alpha_030",
    title="Shop, still on Provisioners",
    about="0.30.0 with two Provisioners and ten Machines, two from before 0.30; selectors and annotations of old.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("0.30", "0.31", namespace="karpenter", profiles=[f"KarpenterNodeInstanceProfile-{site.name}"]),
)
