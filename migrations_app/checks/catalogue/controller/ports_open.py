"""Fails for each port of the controller that a NetworkPolicy closes to the API server or the metrics scrapers."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    ManualCheck,
    NotApplicable,
    Remedy,
    SeverityCap,
    Unknown,
)
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.controller_network import open_ports
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.facts.controller_network import allows_port, ingress_guards
from migrations_app.karpenter.hops import hops_between
from migrations_app.karpenter.tables.port_rows import PortRow, ports_of

check = Check(
    __name__,
    title="The controller's ports are open",
    phase="controller",
    severity="warning",
    why="While the API server cannot call the webhook, every read of an object in another version fails.",
    how=(
        "Compares the ingress of NetworkPolicies that select the controller's pods with the ports of the target "
        "version; what lets only pods in does not let the API server in. On the host network a person checks the "
        "nodes' security groups."
    ),
    reads=("controller", "network_policies"),
    says=("{count} controller port is closed", "{count} controller ports are closed"),
    hops=hops_between("0.29", "1.1+"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/templates/service.yaml",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, ports = installation(case.inventory), ports_of(case.hop.release)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    if not ports:
        yield Unknown(f"the ports of {case.hop.release} are not known")
    if controller.workload.template.spec.host_network:
        port_list = ", ".join(f"{row.text} ({row.purpose})" for row in ports)
        yield ManualCheck(
            "the controller uses its node's network, where a NetworkPolicy counts for nothing: look whether the "
            f"security groups of its nodes let callers in on {port_list}"
        )
        yield SeverityCap("info")
        return
    now = ports_of(case.running.release) if case.running.release else ()
    yield from _policies(case, controller, ports=(*ports, *(row for row in now if row.webhook and row not in ports)))


def _policies(case: CheckContext, controller: Installation, *, ports: tuple[PortRow, ...]) -> Iterator[JudgeResult]:
    guards = ingress_guards(case.inventory, controller)
    for port in ports if guards else ():
        if not any(allows_port(guard, port) for guard in guards):
            wanted = f"ingress on {port.text} ({port.purpose})"
            yield at_object(guards[0], "spec.ingress", seen=f"{port.text} is closed", wanted=wanted).with_data(
                port=port.text
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield open_ports(case.inventory, evidence)
