"""A cluster that scales with managed node groups and cluster-autoscaler only."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.story import Story

site = ClusterBuilder("tools-eu", "1.30")
nodes = site.node_group("general", 4, instance_type="m6i.xlarge")
site.add_ons(nodes)
site.deploy(
    "cluster-autoscaler", "kube-system", replicas=1, nodes=nodes, image="autoscaling/cluster-autoscaler:v1.30.2"
)
site.deploy("gitea", "tools", replicas=1, nodes=nodes, kind="StatefulSet", spare=1)
site.deploy("grafana", "tools", replicas=2, nodes=nodes, spare=1)

story = Story(
    name="no_karpenter",
    title="Tools, no Karpenter",
    about="Managed node groups and cluster-autoscaler; nothing of Karpenter was ever installed.",
    version=site.version,
    docs=tuple(site.docs),
)
