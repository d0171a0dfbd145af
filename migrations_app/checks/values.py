"""The values of judging: what a check says, and what becomes of it."""

from typing import Literal, TypeAlias

import msgspec

Status = Literal["pass", "fail", "unknown", "not_applicable", "manual", "waived"]
Severity = Literal["blocker", "warning", "info"]
WEIGHTS: tuple[Severity, ...] = ("info", "warning", "blocker")
"""From light to heavy."""
How = Literal["kubectl", "helm", "terraform", "flux", "argocd", "iam", "action"]
Phase = Literal["preflight", "iam", "crds", "controller", "resources", "workloads", "rollout", "cleanup"]
PHASES: tuple[Phase, ...] = (
    "preflight",
    "iam",
    "crds",
    "controller",
    "resources",
    "workloads",
    "rollout",
    "cleanup",
)
EVERY: tuple[str, ...] = ("*",)
"""For `Check.hops`: the check is asked at every hop."""


class Value(msgspec.Struct, frozen=True):
    """Base of the values of judging: frozen, compared by content."""


class Evidence(Value, frozen=True, kw_only=True):
    """One cause. `count` says how many objects share it; `path` is a field path; seen and wanted are texts."""

    kind: str
    name: str
    namespace: str = ""
    path: str = ""
    seen: str = ""
    wanted: str = ""
    count: int = 1


class CannotTell(Value, frozen=True):
    """The parts were read and still do not answer the question; `detail` names the field or object."""

    detail: str


class NotApplicable(Value, frozen=True):
    """The question does not arise in this cluster or at this hop; `detail` says why."""

    detail: str


class Remedy(Value, frozen=True, kw_only=True):
    """One way to fix it. `action` names a karpdash action, only where `how` is `action`."""

    how: How
    text: str
    action: str = ""


class ByHand(Value, frozen=True):
    """Only a person can look; `detail` says where and for what, `remedies` give commands that help to look."""

    detail: str
    remedies: tuple[Remedy, ...] = ()


class AtLeast(Value, frozen=True):
    """The evidence beside it is a lower bound: not everything it counts was seen; `detail` says what was not."""

    detail: str


class Milder(Value, frozen=True):
    """All that stands beside it, evidence and doubts, weighs no more than that; it never makes a check weigh more."""

    severity: Severity


Word: TypeAlias = Evidence | CannotTell | NotApplicable | ByHand | AtLeast | Milder


class Finding(Value, frozen=True, kw_only=True):
    """The answer of one check at one hop."""

    id: str
    hop: str
    phase: Phase
    title: str
    status: Status
    severity: Severity
    why: str
    summary: str
    evidence_total: int = 0
    evidence_exact: bool = True
    """False: the total is a lower bound, as a list was only partly read or an object did not answer; so where the
    status is unknown."""
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def open_blocker(self) -> bool:
        return self.severity == "blocker" and self.status in ("fail", "unknown", "manual")
