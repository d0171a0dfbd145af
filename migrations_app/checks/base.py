"""The values of judging: what a check says, and what becomes of it.

The frame of a check: one question, named after the good state, put to the parts that it names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.checks.changes import Change
from migrations_app.inventory.facts.ownership import Ownership, ownership
from migrations_app.inventory.inventory import AWS_PARTS, PART_NAMES, Inventory
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.upgrade_path import PathHop

Status = Literal["pass", "fail", "unknown", "not_applicable", "manual", "waived"]
Severity = Literal["blocker", "warning", "info"]
WEIGHTS: tuple[Severity, ...] = ("info", "warning", "blocker")
"""From light to heavy."""
How = Literal["kubectl", "helm", "terraform", "flux", "argocd", "iam", "action"]
HOWS: tuple[How, ...] = get_args(How)
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


class CheckValue(msgspec.Struct, frozen=True):
    """Base of the values of judging: frozen, compared by content."""


class Reason(CheckValue, frozen=True):
    """Why a question is open, for programs; the sentence beside it is for people.

    `part_unread`: the part of that name was not read, and `why` is the code of its Unseen. `aws_not_asked`: nobody gave
    access to AWS.
    """

    code: Literal["part_unread", "aws_not_asked"]
    part: str
    why: str


class Evidence(CheckValue, frozen=True, kw_only=True):
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


class Unknown(CheckValue, frozen=True):
    """The parts were read and still do not answer the question; `detail` names the field or object.

    `reason` is there where the answer hangs on a part that was not read.
    """

    detail: str
    reason: Reason | None = None


class NotApplicable(CheckValue, frozen=True):
    """The question does not arise in this cluster or at this hop; `detail` says why."""

    detail: str


class Remedy(CheckValue, frozen=True, kw_only=True):
    """One way to fix it. `action` names a karpdash action, only where `how` is `action`."""

    how: How
    text: str
    action: str = ""
    change: Change | UnsetType = UNSET
    """What it does, as a value; the remedies of all tools for one fix carry the same. Stored, and never published:
    `readiness/published.py`."""


class ManualCheck(CheckValue, frozen=True):
    """karpdash cannot check this; `detail` tells a person where and for what to look, `remedies` give commands."""

    detail: str
    remedies: tuple[Remedy, ...] = ()


class LowerBound(CheckValue, frozen=True):
    """The evidence is a lower bound: not every object was read; `detail` says which were not."""

    detail: str


class SeverityCap(CheckValue, frozen=True):
    """Caps the severity of this finding, evidence and doubts included. It can only lower it."""

    severity: Severity


JudgeResult: TypeAlias = Evidence | Unknown | NotApplicable | ManualCheck | LowerBound | SeverityCap


CONFIRMABLE = ("iam_change_known",)
"""Checks whose manual question a person answers by a waiver: an audited word with an owner and an end."""


class Finding(CheckValue, frozen=True, kw_only=True):
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
    asked_at: str | UnsetType = UNSET
    """The earlier hop that asks for all of it, no less severely: unknown here until the cluster is scanned again.
    Stored, and never published."""

    asks: tuple[str, ...] | UnsetType = UNSET
    """Digests of what a person is asked to look at, where nothing fails: the same question is told by them at another
    hop and in another scan. Stored, and never published."""

    follows: str | UnsetType = UNSET
    """The check of the same hop whose fix brings all of it or unmasks it: it is not there before that is made. Stored,
    and never published."""

    @property
    def waivable(self) -> bool:
        """Whether it can be waived: a failure, or a question that a waiver answers."""
        return self.status == "fail" or (self.status == "manual" and self.id in CONFIRMABLE)

    @property
    def asked_earlier(self) -> bool:
        """Whether an earlier hop of the same plan already reports it, so that this hop does not repeat it."""
        return not isinstance(self.asked_at, UnsetType)

    @property
    def open_blocker(self) -> bool:
        return self.severity == "blocker" and self.status in ("fail", "unknown", "manual")


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check is asked about: one inventory at one hop. `step.release` is the release that the hop lands on."""

    inventory: Inventory
    step: PathHop
    running: DetectedRelease
    stage: str
    now: str
    """RFC 3339; the one clock reading of the scan."""
    owned: Ownership | None = None
    """Who owns the nodes, where that was worked out before: it takes 0.1 s for 2,000 nodes."""
    planned_kubernetes: str = ""
    """The Kubernetes minor that the release of this step is to run on later; empty where nobody plans one."""

    @property
    def ownership(self) -> Ownership:
        return self.owned or ownership(self.inventory)

    @property
    def hop(self) -> str:
        return self.step.hop


Judge = Callable[[CheckContext], Iterable[JudgeResult]]
Advise = Callable[[CheckContext, tuple[Evidence, ...]], Iterable[Remedy]]
Mendable = Callable[[CheckContext, tuple[Evidence, ...]], bool]


@dataclass(slots=True)
class Check:
    """Declared once per catalogue module as `check`; `judge` and `advise` are decorators.

    `hops` are hop ids or EVERY. `severity_at` overrides `severity` per hop. `reads` names the parts without which the
    answer is unknown. `says` is the headline of a failure, singular and plural, with {count}; the singular may also
    use {name} and {seen} of the only evidence.
    """

    module: str
    title: str
    phase: Phase
    severity: Severity
    why: str
    reads: tuple[str, ...]
    says: tuple[str, str]
    how: str = ""
    """How it is detected, in one sentence for the catalogue: which fields are read and compared with what."""
    hops: tuple[str, ...] = EVERY
    severity_at: Mapping[str, Severity] = field(default_factory=dict)
    resolved_by: tuple[str, ...] = ()
    remedy_tools: tuple[How, ...] = ()
    """The tools that its own remedies are written for."""
    sources: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    since: str = "0.1.0"
    """The first release of karpdash that asks it."""
    _judge: Judge | None = None
    _advise: Advise | None = None
    _mendable: Mendable | None = None

    def __post_init__(self) -> None:
        strange = [name for name in self.reads if name not in PART_NAMES + AWS_PARTS]
        if strange or not self.reads:
            raise ValueError(f"{self.module} reads no such part: {strange or 'none named'}")

    @property
    def id(self) -> str:
        return self.module.rpartition(".")[2]

    def applies(self, hop: str) -> bool:
        return self.hops == EVERY or hop in self.hops

    def severity_for(self, hop: str) -> Severity:
        return self.severity_at.get(hop, self.severity)

    def headline(self, rows: Sequence[Evidence], *, exact: bool = True) -> str:
        """What is wrong, for a failure with that evidence; not exact: there may be more."""
        count = sum(row.count for row in rows)
        count_text = f"{count}" if exact else f"at least {count}"
        if count == 1:
            more = "" if exact or "{count}" in self.says[0] else "; there may be more"
            return self.says[0].format(count=count_text, name=rows[0].name, seen=rows[0].seen) + more
        return self.says[1].format(count=count_text)

    def severity_unasked(self, hop: str) -> Severity:
        """Where nobody gave access to AWS: the open question warns, so that the hop is never plainly ready; it does not
        hold up everybody who only showed the cluster. Where AWS was asked and refused, the usual severity counts."""
        usual = self.severity_for(hop)
        return "warning" if usual == "blocker" else usual

    def judge(self, function: Judge) -> Judge:
        """Decorator: the function yields Evidence for each cause, or CannotTell, NotApplicable, ByHand."""
        self._judge = function
        return function

    def advise(self, function: Advise) -> Advise:
        """Decorator: the function yields Remedies filled with the cluster's real names; asked only on a failure."""
        self._advise = function
        return function

    def mendable(self, function: Mendable) -> Mendable:
        """Decorator: the function tells whether the actions of `resolved_by` can mend this failure; without it they
        always can."""
        self._mendable = function
        return function

    @property
    def tools(self) -> tuple[How, ...]:
        """Every tool that a remedy of the check may be for, in the order of `How`; empty where it gives none."""
        named = {*self.remedy_tools, "action"} if self.resolved_by else {*self.remedy_tools}
        return tuple(how for how in HOWS if how in named)

    def ask(self, case: CheckContext) -> tuple[JudgeResult, ...]:
        if self._judge is None:
            raise TypeError(f"{self.module} declares no judge")
        return tuple(self._judge(case))

    def remedies(self, case: CheckContext, evidence: tuple[Evidence, ...]) -> tuple[Remedy, ...]:
        return tuple(self._advise(case, evidence)) if self._advise else ()

    def actions(self, case: CheckContext, evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
        """The ids of the actions that can mend this failure."""
        return self.resolved_by if self._mendable is None or self._mendable(case, evidence) else ()

    def actions_at(self, finding: Finding) -> tuple[str, ...]:
        """The same of a finding that was stored: where it depends on the failure, what its remedies name."""
        if self._mendable is None:
            return self.resolved_by
        named = {remedy.action for remedy in finding.remedies}
        return tuple(name for name in self.resolved_by if name in named)
