"""The types of a scan's report: what `scan -o json` prints and the REST API serves as a snapshot."""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.checks.base import Finding
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.inventory.facts.ownership import Anomaly, OwnedNode
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Certainty
from migrations_app.readiness.iam_sheet.values import IamSheet

__all__ = [
    "OWNERS",
    "Anomaly",
    "ClusterFacts",
    "Counts",
    "HopLine",
    "IamSheet",
    "InstallationFacts",
    "KubernetesWindow",
    "LegacyObject",
    "NodeCounts",
    "OwnedNode",
    "PartLine",
    "Report",
    "ReportHop",
    "ScanResult",
    "Stage",
    "TablesEnd",
    "Target",
    "Verdict",
]

Verdict = Literal["ready", "ready_with_warnings", "later", "needs_facts", "blocked", "in_progress", "done"]
"""`later`: only the hops before it keep this hop from being ready."""
Stage = Literal["no_karpenter", "alpha", "mixed", "beta", "beta_v1", "v1", "unknown"]
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
    def display_name(self) -> str:
        """The name of the object as actions take it in their parameters."""
        return f"{self.kind} {self.namespace}/{self.name}"


class InstallationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the controller is and who looks after it: what a command has to name. Managers as in inventory/managers."""

    namespace: str
    release: str
    """The Helm release, from the labels of the Deployment."""
    kept_by: str = "hand"
    keeper: str = ""
    """Namespace and name of the Flux or Argo CD object that delivers the controller; empty if none does."""
    source: str = ""
    """The repository of that object, with its branch or version, if known."""
    crds_kept_by: str = "hand"
    crd_release: str | UnsetType = UNSET
    """Namespace and name of the Helm release of karpenter-crd; empty if none was seen. Stored, never published."""
    crd_keeper: str | UnsetType = UNSET
    """Namespace and name of the Flux or Argo CD object that delivers the chart of the CRDs; empty if none does, or
    if it is the controller's. Stored, never published."""
    controller: str | UnsetType = UNSET
    """The Service of the controller, which has the same name as the Deployment. Stored, never published."""
    given: tuple[GivenChart, ...] | UnsetType = UNSET
    """The values of the charts. Stored, and never published."""
    carriers: tuple[Carrier, ...] | UnsetType = UNSET
    """The objects of Flux and Argo CD that deliver the charts. Stored, and never published."""
    git: tuple[GitSource, ...] | UnsetType = UNSET
    """The places in Git repositories that Flux and Argo CD apply; unset if none is known. Stored, never published."""
    chart_deletes: bool | UnsetType = UNSET
    """Whether the tool of the controller deletes what a new chart leaves out. Stored, never published."""
    kept_webhooks: tuple[str, ...] | UnsetType = UNSET
    """The admission webhook configurations that no tool deletes once a chart leaves them out; unset if not all were
    read. Stored, never published."""
    without_release: bool | UnsetType = UNSET
    """Whether no Helm release has the controller; unset if Helm's records were not read. Stored, never published."""


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kubernetes_version: str | None
    karpenter_version: str | None
    stage: Stage
    karpenter_told_by: str = ""
    """The source of the release, such as `helm release`; empty if the release is not known."""
    karpenter_certainty: str = "unknown"
    """exact, range or unknown."""
    karpenter_range: tuple[str, ...] = ()
    """The possible minors, if only a range is known."""
    disagreements: tuple[str, ...] = ()
    installed: InstallationFacts | None = None
    """None if no controller was seen, and in old reports without this field."""


class PartLine(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    seen: bool
    why: str = ""
    detail: str = ""
    count: int | None = None
    quarantined: int = 0
    seconds: float = 0.0
    reasons: tuple[str, ...] | UnsetType = UNSET
    """The error codes of objects that were set aside, each once. Stored, never published."""
    read_as: str = ""
    """The version in which objects were read, and why; empty for the newest served version."""
    unchanged_since: str = ""
    """When the objects were read, if this scan proved that none has changed since; empty if it read them."""

    @property
    def partly_forbidden(self) -> bool:
        """Whether objects were set aside because reading them is forbidden, such as one namespace."""
        return not isinstance(self.reasons, UnsetType) and FORBIDDEN in self.reasons


class KubernetesWindow(msgspec.Struct, frozen=True):
    min: str
    max: str


class ReportHop(msgspec.Struct, frozen=True, kw_only=True, rename={"name": "hop"}):
    name: str
    release: str
    rollback_to: tuple[str, ...] = ()
    rollback_unsupported: tuple[str, ...] = ()
    """Those of `rollback_to` that do not support the Kubernetes that runs after the hop."""
    kubernetes: KubernetesWindow
    kubernetes_fits: bool | None = None
    mandatory: bool = True
    why: str = ""
    needs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    """What to know before a rollback."""


class TablesEnd(msgspec.Struct, frozen=True):
    """The newest Karpenter release that this karpdash knows, and when it came out (YYYY-MM-DD)."""

    release: str
    date: str

    def __str__(self) -> str:
        return f"{self.release} ({self.date})"


class Target(msgspec.Struct, frozen=True):
    release: str | None
    path: tuple[ReportHop, ...]
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
    """Summaries of the findings that keep the hop from being ready, most severe first; at most five."""


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
    """The newest release in the tables that the report was made with; None in old reports."""
    legacy: dict[str, int | None] = {}
    """Number of legacy objects by kind (Provisioner, AWSNodeTemplate, Machine, Node); None if the kind was not read."""
    legacy_objects: tuple[LegacyObject, ...] | UnsetType = UNSET
    """The objects that the clean-up deletes, with uid; unset if not all were read. Stored, never published."""

    @property
    def nodes_certainty(self) -> Certainty:
        """Whether the counts of nodes are exact; a list that was only partly read gives a lower bound."""
        line = next((line for line in self.parts if line.name == "nodes"), None)
        if line is None or (line.seen and not line.quarantined):
            return "exact"
        return "at_least" if line.seen else "unknown"


class ScanResult(msgspec.Struct, frozen=True, kw_only=True):
    """A report with what is stored beside its JSON: the rows of the nodes, the manifests of objects to convert, and
    the IAM sheet."""

    report: Report
    nodes: tuple[OwnedNode, ...]
    objects: tuple[dict[str, Any], ...] = ()
    iam: IamSheet | None = None


@dataclass(frozen=True, slots=True)
class CollectResult:
    """An inventory with the result of each data source."""

    inventory: Inventory
    parts: tuple[PartLine, ...]

    @property
    def complete(self) -> bool:
        """False if any part is Unseen or any object was set aside."""
        return all(line.seen and not line.quarantined for line in self.parts)
