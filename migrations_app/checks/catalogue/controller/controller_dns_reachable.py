"""Fails if all DNS pods run on Karpenter nodes while the chart lets the controller use the cluster's DNS."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, Installation, given_values, installation, value_at
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.versions import minor_order

CLUSTER, NODE_S = "ClusterFirst", "Default"
MANAGED = "karpenter_"
PLACE = "spec.nodeName"
DNS_LABEL, DNS_PODS = "k8s-app", "kube-dns"
check = Check(
    __name__,
    title="DNS for the controller does not depend on Karpenter nodes",
    phase="controller",
    severity="warning",
    why=(
        "From 0.34 on the chart lets the controller use the cluster's DNS. If DNS runs on Karpenter nodes only, "
        "neither can start without the other."
    ),
    how="Compares dnsPolicy as the target chart sets it with the owners of the nodes that the CoreDNS pods run on.",
    reads=("controller", "pods", "nodes"),
    says=("The only DNS pod runs on a Karpenter node", "All {count} DNS pods run on Karpenter nodes"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws#4947",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    groups = [group for group in case.inventory.pods.items if group.labels.get(DNS_LABEL) == DNS_PODS]
    if controller is None or not groups:
        yield NotApplicable("there is no Karpenter Deployment, or no pod of a cluster DNS was seen")
        return
    owners = {node.name: node.owner for node in case.ownership.nodes}
    where = [owners.get(name) for group in groups for name in group.nodes]
    if not where or None in where:
        yield Unknown("the nodes that the pods of the cluster DNS run on are not all known")
    elif asks_cluster(case, controller) and all((owner or "").startswith(MANAGED) for owner in where):
        yield from map(_evidence, groups)


def asks_cluster(case: CheckContext, controller: Installation) -> bool:
    """Whether the controller uses the cluster's DNS after the upgrade."""
    spec = controller.workload.template.spec
    if spec.host_network:
        return False
    values = given_values(case.inventory)
    policy_value = value_at(values.tree, "dnsPolicy") if values is not None else ABSENT
    if policy_value is not ABSENT:
        return bool(policy_value == CLUSTER)
    running, policy = case.running.release, spec.dns_policy or CLUSTER
    own_choice = running is not None and minor_order(running.minor) >= (0, 34) and policy == NODE_S
    # Default of the chart: Default up to 0.33, ClusterFirst from 0.34 on.
    return minor_order(case.hop.release.minor) >= (0, 34) and not own_choice


def _evidence(group: PodGroup) -> Evidence:
    kind, name = group.owner_kind or "Pod", group.owner_name or next(iter(group.samples), "")
    seen, wanted = f"on {' '.join(group.nodes)[:150]}", f"one elsewhere, or dnsPolicy {NODE_S} for the controller"
    return Evidence(
        kind=kind, namespace=group.namespace, name=name, path=PLACE, seen=seen, wanted=wanted, count=group.count
    )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from chart_values(case, {"dnsPolicy": NODE_S}, about="the controller asks its node's DNS", when="before")
