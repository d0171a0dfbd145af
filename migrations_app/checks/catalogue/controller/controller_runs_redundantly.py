"""Fails if not every replica of the controller fits on a node, in its own zone where the chart requires it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_controller
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts import controller
from migrations_app.karpenter.versions import minor_order

SPREAD = "topologySpreadConstraints"
REQUIRED = "DoNotSchedule"
check = Check(
    __name__,
    title="Every controller replica can be scheduled",
    phase="controller",
    severity="warning",
    why=(
        "From 1.0 on the chart requires a zone for each replica: with too few zones the second one stays pending, "
        "and an upgrade that waits for it fails."
    ),
    how="Counts the nodes that the Deployment may run on, and their zones, and compares them with its replicas.",
    reads=("controller", "nodes"),
    says=("{count} cause keeps a controller replica pending", "{count} causes keep controller replicas pending"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/values.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    installation, nodes = controller.installation(case.inventory), case.inventory.nodes.items
    replicas = (
        1
        if installation is None or installation.workload.spec.replicas is None
        else installation.workload.spec.replicas
    )
    open_to_it = controller.controller_places(case.inventory)
    if installation is None or open_to_it is None or replicas < 2 or not nodes:
        yield NotApplicable("fewer than two replicas are wanted, or no node was seen")
        return
    fargate = {node.name for node in case.ownership.nodes if node.owner == "fargate"}
    if any(pod.spec.node_name in fargate for pod in case.inventory.controller_pods.items):
        yield NotApplicable("the controller runs on Fargate, which makes a node for each replica")
        return
    if open_to_it.unknown:
        yield Unknown(f"the controller's nodes are chosen by {', '.join(open_to_it.unknown)}, which is not kept")
    else:
        yield from _too_few(case, installation, open_to_it=open_to_it, replicas=replicas)


def _too_few(
    case: CheckContext, installation: controller.Installation, *, open_to_it: controller.Places, replicas: int
) -> Iterator[JudgeResult]:
    names, zones = [node.name for node in open_to_it.nodes], open_to_it.zones
    if len(names) < replicas:
        seen = f"{len(names)} node{'' if len(names) == 1 else 's'} would take it: {' '.join(names) or 'none'}"
        yield at_controller(installation, "affinity", seen=seen, wanted=f"{replicas} nodes that it does not manage")
    elif _zones_required(case, installation) and len(zones) < replicas:
        wanted = f"nodes in {replicas} zones, one replica, or whenUnsatisfiable ScheduleAnyway"
        yield at_controller(installation, SPREAD, seen=f"zones open to it: {' '.join(zones) or 'none'}", wanted=wanted)


def _zones_required(case: CheckContext, installation: controller.Installation) -> bool:
    """Whether replicas need different zones: as the Deployment says if values set the spread, else also from 1.0 on."""
    rows = installation.workload.template.spec.topology_spread_constraints or ()
    required = any(row.topology_key == controller.ZONE and row.when_unsatisfiable == REQUIRED for row in rows)
    values = controller.given_values(case.inventory)
    if values is not None and controller.value_at(values.tree, SPREAD) is not controller.ABSENT:
        return required
    return required or minor_order(case.hop.release.minor) >= (1, 0)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from chart_values(case, {"replicas": "1"}, about="until there are nodes in enough zones; no node is touched")
