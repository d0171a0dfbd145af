"""Karpenter 1.3: v1 only, only minor upgrades remain."""

from migrations_app.karpenter.releases import newest
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
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, SPOT, claim, node_class, pool
from migrations_app.samples.story import Story

TAGGED = {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}

site = ClusterBuilder("data-prod", "1.32", region="us-east-1")
system = site.node_group("system", 3)
spark = site.launched("spark", 9, capacity="spot", instance_type="r7g.4xlarge")
drivers = site.launched("drivers", 3)
for launched in (*spark, *drivers):
    site.add(*claim(launched, node_class="default", version="v1", annotations=TAGGED))
spark_nodes, driver_nodes = [instance.node for instance in spark], [driver.node for driver in drivers]
site.add_ons([*system, *spark_nodes, *driver_nodes])

owned = crds(Crds(version="1.3.3", labels=HELM_LABEL, annotations=helm_marks("karpenter-crd", "karpenter")))
install = Install(
    cluster=site.name,
    version="1.3.3",
    namespace="karpenter",
    values={"settings": {"clusterName": site.name, "interruptionQueue": site.name}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "karpenter",
        "CLUSTER_NAME": site.name,
        "INTERRUPTION_QUEUE": site.name,
        "LOG_OUTPUT_PATHS": "stdout",
        "FEATURE_GATES": "ReservedCapacity=false,SpotToSpotConsolidation=false,NodeRepair=false",
    },
)
site.add(
    pool("spark", SPOT, LARGE_ENOUGH, node_class="default", version="v1"),
    pool("drivers", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1"),
    node_class("default", cluster=site.name, version="v1"),
    *owned,
    *controller(install, system),
    helm_record(install),
    helm_record(install, chart="karpenter-crd", manifest=crd_manifest([crd["metadata"]["name"] for crd in owned])),
)
site.deploy(
    "spark-executor",
    "spark",
    replicas=24,
    nodes=spark_nodes,
    placement={"nodeSelector": {"karpenter.sh/nodepool": "spark"}},
)
site.deploy(
    "spark-driver", "spark", replicas=3, nodes=driver_nodes, annotations={"karpenter.sh/do-not-disrupt": "true"}
)
site.deploy("catalog", "spark", replicas=2, nodes=driver_nodes, spare=1)
site.hash_as(install.version)

story = Story(
    name="v1_13",
    title="Data, on v1",
    about="1.3.3 on Kubernetes 1.32: only v1 is served and stored; later minors are open.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account("1.3", newest().minor, namespace="karpenter", tagged_with_cluster=True),
)
