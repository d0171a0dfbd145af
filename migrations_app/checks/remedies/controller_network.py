"""How callers reach the controller again: its ports opened, and no sidecar of a mesh in between."""

from collections.abc import Sequence

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import json_word, word
from migrations_app.inventory.facts.controller import Installation


def ports_opened(evidence: Sequence[Evidence]) -> Remedy:
    """The ports that the evidence tells, let in by the policy that it names first."""
    first = evidence[0]
    ports = [{"port": int(row.value("port"))} for row in evidence if row.value("port").isdecimal()]
    patch = json_word([{"op": "add", "path": "/spec/ingress/-", "value": {"ports": ports}}])
    return kubectl(
        "# Lets everybody call these ports; narrow it by ipBlock to the subnets of the control plane",
        f"kubectl -n {word(first.namespace)} patch networkpolicy {word(first.name)} --type=json -p {patch}",
    )


def without_sidecars(found: Installation) -> Remedy:
    """The controller's pods made anew outside of every mesh."""
    patch = (
        '{"spec":{"template":{"metadata":{"annotations":{"sidecar.istio.io/inject":"false",'
        '"linkerd.io/inject":"disabled"}}}}}'
    )
    return kubectl(
        "# Replaces the controller's pods by some without a sidecar; in the chart: podAnnotations",
        f"kubectl -n {word(found.namespace)} patch deployment {word(found.name)} --type=merge -p '{patch}'",
    )
