"""Karpenter 0.37.1, a bad patch, with settings that no chart reads any more; Terraform delivers."""

from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Crds, Install, controller, crds, helm_record
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, claim, node_class, pool
from migrations_app.samples.kubernetes_objects import config_map, doc, meta
from migrations_app.samples.story import Story

site = ClusterBuilder("backoffice", "1.28")
system = site.node_group("system", 2)
general = site.launched("general", 4)
for launched in general:
    site.add(*claim(launched, node_class="default", version="v1", born_as="v1beta1"))
nodes = [instance.node for instance in general]
site.add_ons([*system, *nodes])
settings = {
    "aws": {"enablePodENI": True, "tags": {"cost-centre": "4711"}},
    "clusterName": site.name,
    "interruptionQueueName": site.name,
    "assumeRoleARN": "arn:aws:iam::444455556666:role/karpenter-cross-account",
    "featureGates": {"drift": False},
}
install = Install(
    cluster=site.name,
    version="0.37.1",
    namespace="karpenter",
    values={"settings": settings, "logConfig": {"logEncoding": "json"}, "webhook": {"enabled": False}},
    env={
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "karpenter",
        "CLUSTER_NAME": site.name,
        "DISABLE_WEBHOOK": "true",
        "ASSUME_ROLE_ARN": "arn:aws:iam::444455556666:role/karpenter-cross-account",
        "FEATURE_GATES": "Drift=false,SpotToSpotConsolidation=false",
        "LEADER_ELECT": "true",
    },
)
deployment, *rest = controller(install, system)
deployment["metadata"]["managedFields"] = [{"manager": "terraform-provider-helm_v2.15.0_x5", "operation": "Update"}]
stale = doc(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    metadata=meta("validation.webhook.karpenter.sh"),
    webhooks=[
        {
            "name": "validation.webhook.karpenter.sh",
            "clientConfig": {"service": {"namespace": "karpenter", "name": "karpenter", "port": 8443}},
            "failurePolicy": "Fail",
            "rules": [{"apiGroups": ["karpenter.sh"], "resources": ["nodepools", "nodeclaims"]}],
        }
    ],
)
site.add(
    pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1"),
    node_class("default", cluster=site.name, version="v1"),
    *crds(Crds(version="0.37.1", service=("kube-system", "karpenter"))),
    deployment,
    *rest,
    helm_record(install),
    config_map("karpenter-global-settings", "karpenter", data={"aws.clusterName": site.name}),
    stale,
)
site.deploy(
    "erp",
    "office",
    replicas=3,
    nodes=nodes,
    kind="StatefulSet",
    annotations={"karpenter.sh/do-not-evict": "true"},
    spare=0,
)
site.deploy("mail-relay", "office", replicas=2, nodes=nodes, spare=1)
site.hash_as(install.version)

story = Story(
    name="old_settings",
    title="Back office, dead settings on a bad patch",
    about="0.37.1 with webhooks off, an assumed role, Helm keys that no chart reads and a stale admission webhook.",
    version=site.version,
    docs=tuple(site.docs),
)
