"""What is not known about the way from the API server to the controller's pods."""

from collections.abc import Iterator

from migrations_app.checks.base import CheckContext, JudgeResult, ManualCheck, Severity, SeverityCap
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.inventory.aws_facts.pod_network import controller_pod_network
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.tables.port_rows import WEBHOOK_PORT

NOT_KNOWN = "whether the API server reaches the controller's pods is not known"
PORT_OPEN = f"look that {WEBHOOK_PORT} is free on the nodes and their security groups let the control plane in on it"
"""What else is needed for a webhook on the host network."""


def network_doubts(case: CheckContext, severity: Severity, *, asks: str = NOT_KNOWN) -> Iterator[JudgeResult]:
    """Yields a question to a person, of at most that severity, where the addresses of the controller's pods may be
    none that the control plane reaches; Unknown where that was not read. Nothing where they are addresses of the VPC.
    Where no other network plugin was seen either, the question is a note: nothing speaks for an overlay.
    """
    network = controller_pod_network(case.inventory)
    if isinstance(network, Unseen):
        names = ("daemonsets", "controller_pods", "nodes")
        unread = next((name for name in names if case.inventory.part(name) is network), "DaemonSet aws-node")
        yield could_not_read(unread, network)
    elif network.addresses in ("overlay", "unknown"):
        seen = f"{network.plugin} runs in its place" if network.plugin else "no other network plugin is known by name"
        yield ManualCheck(f"nodes do not run aws-node, and {seen}: {asks}")
    else:
        return
    no_plugin = not isinstance(network, Unseen) and not network.plugin
    yield SeverityCap("info" if no_plugin else severity)
