"""A scan with missing permissions: Secrets, CRDs and NodeClaims cannot be listed."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import HELM_LABEL, Crds, Install, controller, crds, helm_marks
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, claim, node_class, pool
from migrations_app.samples.story import Story

site = ClusterBuilder("partner-prod", "1.29", region="eu-west-1")
system = site.node_group("system", 2)
general = site.launched("general", 3)
for launched in general:
    site.add(*claim(launched, node_class="default", version="v1beta1"))
nodes = [instance.node for instance in general]
site.add_ons([*system, *nodes])
install = Install(
    cluster=site.name,
    version="0.36.9",
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "CLUSTER_NAME": site.name,
        "DISABLE_WEBHOOK": "false",
        "FEATURE_GATES": "Drift=true,SpotToSpotConsolidation=false",
    },
)
site.add(
    pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1beta1"),
    node_class("default", cluster=site.name, version="v1beta1"),
    *crds(
        Crds(
            version="0.36.9",
            service=("kube-system", "karpenter"),
            labels=HELM_LABEL,
            annotations=helm_marks("karpenter-crd", "kube-system"),
        )
    ),
    *controller(install, system),
)
site.deploy("portal", "partner", replicas=6, nodes=nodes, spare=2)
site.hash_as(install.version)

REFUSED = {
    plural: ("forbidden", f"the scanner may not list {plural}")
    for plural in ("customresourcedefinitions", "nodeclaims", "secrets", "validatingwebhookconfigurations")
}
story = Story(
    name="forbidden",
    title="Partner, scanned with too few rights",
    about="0.36.9, but the scanner may not list CRDs, NodeClaims, Secrets or admission webhooks.",
    version=site.version,
    docs=tuple(site.docs),
    refused=REFUSED,
)
