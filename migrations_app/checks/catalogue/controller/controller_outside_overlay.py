"""Fails if the controller's pods have addresses of an overlay network when a hop switches conversion on."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_controller
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.shared.pod_network import PORT_OPEN, network_doubts
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.aws_facts.pod_network import HOST_NETWORK, PodNetwork, controller_pod_network
from migrations_app.inventory.facts.controller import given_values, installation, value_at
from migrations_app.inventory.facts.conversion_webhook import (
    NOTHING_CONVERTED,
    chart_webhook,
    converts_nothing,
)
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED
from migrations_app.karpenter.releases import crd_set

check = Check(
    __name__,
    title="The API server can call the controller's pods",
    phase="controller",
    severity="blocker",
    why=(
        "The control plane of EKS reaches addresses of the VPC only: in an overlay network it calls no webhook, and "
        "every read of an object in another version fails."
    ),
    how=(
        "Looks whether nodes run aws-node, for Cilium, Calico, Flannel or Weave Net in its place, for hostNetwork in "
        "the Deployment and the chart's values, and for Fargate and EKS Auto Mode under the controller's pods. "
        "Cilium's IPAM is read in cilium-config, otherwise from its operator's image. Another plugin is a question."
    ),
    reads=("controller",),
    says=("The API server cannot call the controller's pods", "The API server cannot call the controller's pods"),
    hops=(ALPHA_LEFT, CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#4554",
        "cilium/cilium#31536",
    ),
    remedy_tools=CHART_TOOLS,
)
ASKS = f"unless the pods have addresses of the VPC, set hostNetwork: true in the chart's values, and {PORT_OPEN}"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, network = installation(case.inventory), controller_pod_network(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif converts_nothing(case.inventory, case.running.release):
        yield NotApplicable(NOTHING_CONVERTED)
    elif not _converts(case):
        yield NotApplicable("no webhook is called at this upgrade")
    elif isinstance(network, PodNetwork) and network.addresses == "overlay":
        seen = f"false, and pods have addresses of {network.plugin}'s network"
        yield at_controller(controller, HOST_NETWORK, seen=seen, wanted=f"true; {PORT_OPEN}")
    else:
        yield from network_doubts(case, "warning", asks=ASKS)


def _converts(case: CheckContext) -> bool:
    """Whether the CRDs at the start or the end of the hop call the webhook; at the first hop the values of both charts
    may keep it off."""
    shipped = (crd_set(case.hop.start), crd_set(case.hop.release))
    main, of_crds = given_values(case.inventory), chart_webhook(case.inventory, case.hop.release)
    kept_off = main is not None and not value_at(main.tree, "webhook.enabled")
    left_off = case.hop.name == ALPHA_LEFT and kept_off and of_crds is not None and not of_crds.converts
    return not left_off and any(crds is not None and crds.crd_chart_converts for crds in shipped)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    about = "the control plane reaches the addresses of nodes"
    yield from chart_values(case, {HOST_NETWORK: "true"}, about=about, when="before")
