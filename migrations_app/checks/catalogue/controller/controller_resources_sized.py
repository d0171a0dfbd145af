"""Fails for each limit too small for the number of nodes, and for out-of-memory kills and frequent restarts."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_controller, at_object
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.conversion.quantities import billionths
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.objects.karpenter import ControllerPod
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.release_facts import size_for

RESTARTS = 5
"""From this number of restarts on, a container has a problem, whatever the reason."""
check = Check(
    __name__,
    title="The controller has enough CPU and memory",
    phase="controller",
    severity="warning",
    why="From 0.34 on Karpenter disrupts nodes in batches, which takes more memory: a killed controller starts over.",
    how="Compares the limits of the controller's container with the number of nodes; reads restarts and OOMKilled.",
    reads=("controller", "controller_pods", "nodes"),
    says=(
        "{count} sign that the controller needs more CPU or memory",
        "{count} signs that the controller needs more CPU or memory",
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/getting-started/getting-started-with-karpenter",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    yield from _limits(controller, nodes=case.inventory.nodes.count or 0)
    for pod in case.inventory.controller_pods.items:
        yield from _restarts_and_kills(pod)


def _limits(controller: Installation, *, nodes: int) -> Iterator[JudgeResult]:
    size = size_for(nodes)
    for container in controller.workload.template.spec.containers or ():
        limits = (container.resources.limits if container.resources else None) or {}
        for name, least in (("memory", size.memory), ("cpu", size.cpu)):
            limit, path = limits.get(name), f"containers[{container.name}].resources.limits.{name}"
            have = None if limit is None else billionths(str(limit))
            if limit is not None and have is None:
                yield Unknown(f"{controller.name}: {path} is no quantity")
            elif have is not None and "karpenter" in (container.image or "") and have < (billionths(least) or 0):
                yield at_controller(controller, path, seen=f"{limit} for {nodes} nodes", wanted=f"{least} or more")


def _restarts_and_kills(pod: ControllerPod) -> Iterator[JudgeResult]:
    for status in (pod.status.container_statuses if pod.status else None) or ():
        ended = (
            status.last_state.terminated.reason if status.last_state and status.last_state.terminated else None
        ) or ""
        if ended == "OOMKilled" or (status.restart_count or 0) >= RESTARTS:
            seen = f"{status.restart_count or 0} restarts, the last ended as {ended or 'not known'}"
            yield at_object(pod, f"status.containerStatuses[{status.name}]", seen=seen, wanted="no restarts")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    size = size_for(case.inventory.nodes.count or 0)
    settings = {f"controller.resources.{kind}.memory": size.memory for kind in ("requests", "limits")}
    cpu = {f"controller.resources.{kind}.cpu": size.cpu for kind in ("requests", "limits")}
    yield from chart_values(case, settings | cpu, about="more room for the controller")
