"""The ports on which the controller is called, by release, and the marks of service meshes in between.

Sources: charts/karpenter/templates/deployment.yaml and service.yaml of aws/karpenter-provider-aws at every minor;
documentation of Istio and Linkerd for the annotations that their injectors set and read.
"""

from typing import NamedTuple

from migrations_app.karpenter.versions import Release, within


class PortRow(NamedTuple):
    """A port of the pod and the releases that open it, both ends included."""

    name: str
    number: int
    first: str
    last: str
    purpose: str
    webhook: bool = False

    @property
    def text(self) -> str:
        return str(self.number)


PORTS: tuple[PortRow, ...] = (
    PortRow("http-metrics", 8000, "0.28", "0.37", "metrics"),
    PortRow("http-metrics", 8080, "1.0", "", "metrics"),
    PortRow("https-webhook", 8443, "0.28", "1.0", "admission and conversion", webhook=True),
)
"""The webhook port comes last if there is one. Probe ports are left out: the kubelet is not subject to network
policies.
"""


WEBHOOK_PORT = PORTS[-1].text
WEBHOOK_PORT_NAME = PORTS[-1].name


class Mesh(NamedTuple):
    """`mark` is set on every pod that received a sidecar; `exclusion` names ports that bypass it.

    `asking` is the label or annotation of a pod template, and its value, that requests a sidecar.
    """

    name: str
    mark: str
    exclusion: str
    asking: tuple[str, str]
    namespace_marks: tuple[tuple[str, str], ...] = ()
    """Labels and annotations of a Namespace that request sidecars, each with its value; "" is any value."""


MESHES: tuple[Mesh, ...] = (
    Mesh(
        "Istio",
        "sidecar.istio.io/status",
        "traffic.sidecar.istio.io/excludeInboundPorts",
        ("sidecar.istio.io/inject", "true"),
        (("istio-injection", "enabled"), ("istio.io/rev", "")),
    ),
    Mesh(
        "Linkerd",
        "linkerd.io/proxy-version",
        "config.linkerd.io/skip-inbound-ports",
        ("linkerd.io/inject", "enabled"),
        (("linkerd.io/inject", "enabled"),),
    ),
)


def ports_of(release: Release) -> tuple[PortRow, ...]:
    """The default ports of that release, in row order."""
    return tuple(row for row in PORTS if within(release, first=row.first, last=row.last))
