"""The report of one scan: what `scan -o json` prints and the API serves as a snapshot."""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.checks.base import Finding
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.inventory.facts.ownership import Anomaly, OwnedNode
from migrations_app.inventory.inventory import Inventory
from migrations_app.readiness.iam_sheet.values import IamSheet

__all__ = [
    "OWNERS",
    "Anomaly",
    "ClusterFacts",
    "Counts",
    "HopLine",
    "IamSheet",
    "Installed",
    "KubernetesWindow",
    "LegacyObject",
    "NodeCounts",
    "OwnedNode",
    "PartLine",
    "PathStep",
    "Report",
    "Scanned",
    "Stage",
    "TablesEnd",
    "Target",
    "Verdict",
]

Verdict = Literal["ready", "ready_with_warnings", "later", "needs_facts", "blocked", "in_progress", "done"]
"""`later`: nothing stands in the way of the hop but the hops before it."""
Stage = Literal["no_karpenter", "alpha", "mixed", "beta", "beta_v1", "v1", "unknown"]
Certainty = Literal["exact", "at_least", "unknown"]
FORBIDDEN = "forbidden"
OWNERS: tuple[str, ...] = (
    "karpenter_alpha",
    "karpenter_beta",
    "karpenter_v1",
    "managed_node_group",
    "fargate",
    "auto_mode",
    "hybrid",
    "self_managed",
    "unknown",
)


class GivenChart(msgspec.Struct, frozen=True, kw_only=True):
    """The values that were given to one Helm release of Karpenter, without secrets. `origin` says where they were read;
    `unread` why they are not known."""

    chart: str
    release: str
    namespace: str
    origin: str
    values: dict[str, Any] = {}
    unread: str = ""


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """An object of Flux or Argo CD that delivers one of Karpenter's charts to this cluster. `elsewhere` says who writes
    it; empty where it is its own source. `spec` is what it says of the chart, without secrets."""

    chart: str
    kind: str
    namespace: str
    name: str
    elsewhere: str = ""
    spec: dict[str, Any] = {}

    @property
    def said(self) -> str:
        """As an action takes the name."""
        return f"{self.kind} {self.namespace}/{self.name}"


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """Where the controller is and who looks after it: what a command has to name. Managers as in inventory/managers."""

    namespace: str
    release: str
    """The Helm release, as the labels of the Deployment tell it."""
    kept_by: str = "hand"
    keeper: str = ""
    """Namespace and name of the Flux or Argo CD object, where one delivers it."""
    source: str = ""
    """The repository that this object delivers from, with its branch or version, where it is known."""
    crds_kept_by: str = "hand"
    crd_release: str | UnsetType = UNSET
    """Namespace and name of the Helm release of karpenter-crd; empty where none was seen. Stored, never published."""
    crd_keeper: str | UnsetType = UNSET
    """Namespace and name of the Flux or Argo CD object that delivers the chart of the CRDs; empty where that of the
    controller does, or none. Stored, and never published."""
    controller: str | UnsetType = UNSET
    """The Service of the controller, which shares its name with the Deployment. Stored, and never published."""
    given: tuple[GivenChart, ...] | UnsetType = UNSET
    """The values of the charts. Stored, and never published."""
    carriers: tuple[Carrier, ...] | UnsetType = UNSET
    """The objects of Flux and Argo CD that deliver the charts. Stored, and never published."""
    git: tuple[GitSource, ...] | UnsetType = UNSET
    """The places in Git repositories that Flux and Argo CD apply; unset where none is told. Stored, never published."""


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kubernetes_version: str | None
    karpenter_version: str | None
    stage: Stage
    karpenter_told_by: str = ""
    """How the release was told, such as `helm release`; empty when it is not known."""
    karpenter_certainty: str = "unknown"
    """exact, range or unknown."""
    karpenter_range: tuple[str, ...] = ()
    """The minors it may be, where only a range is known."""
    disagreements: tuple[str, ...] = ()
    installed: Installed | None = None
    """None where no controller was seen, and in reports from before this was told."""


class PartLine(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    seen: bool
    why: str = ""
    detail: str = ""
    count: int | None = None
    quarantined: int = 0
    seconds: float = 0.0
    reasons: tuple[str, ...] | UnsetType = UNSET
    """The codes of what kept us from objects that were set aside, each once. Stored, and never published."""
    read_as: str = ""
    """The version in which objects were read, and why; empty where it is the newest served one."""
    unchanged_since: str = ""
    """When the objects were read, where this scan proved that none has changed since; empty where it read them."""

    @property
    def partly_forbidden(self) -> bool:
        """Whether something was set aside because it may not be read, such as one namespace."""
        return not isinstance(self.reasons, UnsetType) and FORBIDDEN in self.reasons


class KubernetesWindow(msgspec.Struct, frozen=True):
    min: str
    max: str


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    hop: str
    release: str
    rollback_to: tuple[str, ...] = ()
    kubernetes: KubernetesWindow
    kubernetes_fits: bool | None = None
    mandatory: bool = True
    why: str = ""
    needs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    """What to know before going back."""


class TablesEnd(msgspec.Struct, frozen=True):
    """The newest Karpenter release that this karpdash knows, and when it came out (YYYY-MM-DD)."""

    release: str
    date: str

    def __str__(self) -> str:
        return f"{self.release} ({self.date})"


class Target(msgspec.Struct, frozen=True):
    release: str | None
    path: tuple[PathStep, ...]
    notes: tuple[str, ...] = ()


class Counts(msgspec.Struct, frozen=True, rename={"passed": "pass"}):
    passed: int = 0
    fail: int = 0
    unknown: int = 0
    not_applicable: int = 0
    manual: int = 0
    waived: int = 0


class HopLine(msgspec.Struct, frozen=True, kw_only=True):
    hop: str
    verdict: Verdict
    done_percent: int
    counts: Counts
    reasons: tuple[str, ...] = ()
    """Summaries of what keeps the hop from being ready, most severe first; at most five."""


class NodeCounts(msgspec.Struct, frozen=True):
    total: int
    by_owner: dict[str, int]


class LegacyObject(msgspec.Struct, frozen=True, kw_only=True):
    """One alpha object, or the CRD of an alpha kind. `manager` is the tool that reverts changes of it."""

    kind: str
    name: str
    uid: str
    manager: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "karpdash/scan/v1"
    cluster: ClusterFacts
    scanned_at: str
    complete: bool
    parts: tuple[PartLine, ...]
    target: Target
    hops: tuple[HopLine, ...]
    checks: tuple[Finding, ...]
    nodes: NodeCounts
    anomalies: tuple[Anomaly, ...] = ()
    known_up_to: TablesEnd | None = None
    """How far the tables reached that it was judged by; None in reports from before this was told."""
    legacy: dict[str, int | None] = {}
    """Legacy objects left, by kind (Provisioner, AWSNodeTemplate, Machine, Node); None where it could not be read."""
    legacy_objects: tuple[LegacyObject, ...] | UnsetType = UNSET
    """What is deleted of them at the end, by uid; unset where not all of it was read. Stored, never published."""

    @property
    def nodes_certainty(self) -> Certainty:
        """How far the counts of nodes are to be trusted: a list that was only partly read gives a lower bound."""
        line = next((line for line in self.parts if line.name == "nodes"), None)
        if line is None or (line.seen and not line.quarantined):
            return "exact"
        return "at_least" if line.seen else "unknown"


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    """A report, and beside it what is shown and searched but never part of its JSON: the rows of the nodes, the
    objects that a conversion takes, as manifests, and the sheet of permissions."""

    report: Report
    nodes: tuple[OwnedNode, ...]
    objects: tuple[dict[str, Any], ...] = ()
    iam: IamSheet | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """`complete` is False when any part is Unseen or any object was set aside."""

    inventory: Inventory
    parts: tuple[PartLine, ...]

    @property
    def complete(self) -> bool:
        return all(line.seen and not line.quarantined for line in self.parts)
