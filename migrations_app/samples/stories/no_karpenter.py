"""A cluster that scales with managed node groups and cluster-autoscaler only."""

from migrations_app.samples.site import Site
from migrations_app.samples.story import Expected, Story

site = Site("tools-eu", "1.30")
nodes = site.node_group("general", 4, instance_type="m6i.xlarge")
site.add_ons(nodes)
site.deploy("cluster-autoscaler", "kube-system", 1, nodes, image="autoscaling/cluster-autoscaler:v1.30.2")
site.deploy("gitea", "tools", 1, nodes, kind="StatefulSet", spare=1)
site.deploy("grafana", "tools", 2, nodes, spare=1)

story = Story(
    name="no_karpenter",
    title="Tools, no Karpenter",
    about="Managed node groups and cluster-autoscaler; nothing of Karpenter was ever installed.",
    version=site.version,
    docs=tuple(site.docs),
    expected=Expected(stage="no_karpenter", verdicts={}, blockers=()),
)
