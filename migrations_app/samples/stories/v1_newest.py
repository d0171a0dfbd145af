"""The newest known Karpenter; nothing is left to do."""

from migrations_app.karpenter.releases import newest, row_of
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
from migrations_app.samples.story import Story

NEWEST = newest()

site = ClusterBuilder("ml-prod", "1.34", region="us-west-2")
system = site.node_group("system", 3)
general = site.launched("general", 5)
for launched in general:
    site.add(*claim(launched, node_class="default", version="v1"))
nodes = [instance.node for instance in general]
site.add_ons([*system, *nodes])

owned = crds(Crds(version=str(NEWEST), labels=HELM_LABEL, annotations=helm_marks("karpenter-crd", "kube-system")))
install = Install(
    cluster=site.name,
    version=str(NEWEST),
    values={"settings": {"clusterName": site.name, "interruptionQueue": site.name}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "CLUSTER_NAME": site.name,
        "INTERRUPTION_QUEUE": site.name,
        "LOG_OUTPUT_PATHS": "stdout",
        "FEATURE_GATES": ",".join(f"{gate.name}={str(gate.default).lower()}" for gate in row_of(NEWEST).gates),
    },
    role="",
)
site.add(
    pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1"),
    node_class("default", cluster=site.name, version="v1"),
    *owned,
    *controller(install, system),
    helm_record(install),
    helm_record(install, chart="karpenter-crd", manifest=crd_manifest([crd["metadata"]["name"] for crd in owned])),
)
site.deploy("notebooks", "ml", replicas=5, nodes=nodes, annotations={"karpenter.sh/do-not-disrupt": "true"})
site.deploy("inference", "ml", replicas=10, nodes=nodes, spare=3)
site.hash_as(install.version)

story = Story(
    name="v1_newest",
    title="Machine learning, up to date",
    about=f"{NEWEST} with Pod Identity: the end of the road for now.",
    version=site.version,
    docs=tuple(site.docs),
    aws=site.account(NEWEST.minor, pod_identity=True, tagged_with_cluster=True),
)
