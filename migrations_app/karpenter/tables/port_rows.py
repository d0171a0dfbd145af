"""The ports on which the controller is called, per release, and the marks of meshes that stand in between.

Sources: charts/karpenter/templates/deployment.yaml and service.yaml of aws/karpenter-provider-aws at every minor;
documentation of Istio and Linkerd for the annotations that their injectors leave and heed.
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
"""In this order the webhook comes last where there is one. Probes come from the kubelet, which no policy keeps off."""


WEBHOOK_PORT = PORTS[-1].text


class Mesh(NamedTuple):
    """`mark` is left on every pod that was given a sidecar; `exclusion` names ports that bypass it.

    `asking` are the label or annotation of a pod's template, and its value, that ask for a sidecar.
    """

    name: str
    mark: str
    exclusion: str
    asking: tuple[str, str]


MESHES: tuple[Mesh, ...] = (
    Mesh(
        "Istio",
        "sidecar.istio.io/status",
        "traffic.sidecar.istio.io/excludeInboundPorts",
        ("sidecar.istio.io/inject", "true"),
    ),
    Mesh(
        "Linkerd",
        "linkerd.io/proxy-version",
        "config.linkerd.io/skip-inbound-ports",
        ("linkerd.io/inject", "enabled"),
    ),
)


def ports_of(release: Release) -> tuple[PortRow, ...]:
    """The ports of that release by default, in the order of the rows."""
    return tuple(row for row in PORTS if within(release, first=row.first, last=row.last))
