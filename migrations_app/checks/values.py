"""The values of judging: what a check says, and what becomes of it."""

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, UnsetType

Status = Literal["pass", "fail", "unknown", "not_applicable", "manual", "waived"]
Severity = Literal["blocker", "warning", "info"]
WEIGHTS: tuple[Severity, ...] = ("info", "warning", "blocker")
"""From light to heavy."""
How = Literal["kubectl", "helm", "terraform", "flux", "argocd", "iam", "action"]
HOWS: tuple[How, ...] = get_args(How)
CHART_TOOLS: tuple[How, ...] = ("helm", "terraform", "flux", "argocd")
"""What the values or the version of a chart may be changed with."""
OBJECT_TOOLS: tuple[How, ...] = ("kubectl", *CHART_TOOLS)
"""What an object in the cluster may be changed with: directly, or where its source is."""
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


class Reason(Value, frozen=True):
    """Why a question is open, for programs; the sentence beside it is for people.

    `part_unread`: the part of that name was not read, and `why` is the code of its Unseen. `aws_not_asked`: nobody gave
    access to AWS.
    """

    code: Literal["part_unread", "aws_not_asked"]
    part: str
    why: str


class Evidence(Value, frozen=True, kw_only=True):
    """One cause. `count` says how many objects share it; `path` is a field path; seen and wanted are texts."""

    kind: str
    name: str
    namespace: str = ""
    path: str = ""
    seen: str = ""
    wanted: str = ""
    count: int = 1
    data: Mapping[str, str] | UnsetType = UNSET
    """The values that remedies are made of, by name, as seen and wanted may be reworded. Never stored or published."""

    def value(self, name: str) -> str:
        """The value of that name. Raises KeyError where the check gave none."""
        if isinstance(self.data, UnsetType):
            raise KeyError(name)
        return self.data[name]

    def with_data(self, **values: str) -> "Evidence":
        """The same with these values for remedies."""
        return msgspec.structs.replace(self, data=values)

    def for_people(self) -> "Evidence":
        """The same without the values for remedies, as a finding holds it."""
        return self if isinstance(self.data, UnsetType) else msgspec.structs.replace(self, data=UNSET)


class CannotTell(Value, frozen=True):
    """The parts were read and still do not answer the question; `detail` names the field or object.

    `reason` is there where the answer hangs on a part that was not read.
    """

    detail: str
    reason: Reason | None = None


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
    reason: Reason | UnsetType = UNSET
    """What keeps it open, where a part was not read. Stored, and never published: `readiness/published.py`."""

    @property
    def open_blocker(self) -> bool:
        return self.severity == "blocker" and self.status in ("fail", "unknown", "manual")
