"""The types of a check: its context, its results and its finding.

A check asks one question, is named after the good state, and lists the parts of the inventory that it reads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, get_args

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
"""In ascending order."""
RemedyTool = Literal["kubectl", "helm", "terraform", "flux", "argocd", "iam", "action"]
REMEDY_TOOLS: tuple[RemedyTool, ...] = get_args(RemedyTool)
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
ASKED_AT = (
    "Only where it is set: the earlier hop that reports what this check would find. Until the next scan it is unknown "
    "here, and counts neither for the verdict of this hop nor, without --strict, for an exit code."
)
EVERY: tuple[str, ...] = ("*",)
"""Value of `Check.hops` for a check that runs at every hop."""


class CheckValue(msgspec.Struct, frozen=True):
    """Base of the types of this module: frozen, compared by content."""


class Reason(CheckValue, frozen=True):
    """Code for programs that says why a check has no answer; the sentence for people is stored next to it.

    `part_unread`: the named part was not read; `why` is the code of its Unseen. `aws_not_asked`: karpdash has no access
    to AWS.
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
    """Values by name from which remedies are made, because the texts seen and wanted may be reworded. Never stored or
    published."""

    def value(self, name: str) -> str:
        """The value with that name. Raises KeyError if the check set none."""
        if isinstance(self.data, UnsetType):
            raise KeyError(name)
        return self.data[name]

    def with_data(self, **values: str) -> "Evidence":
        """A copy with these values for remedies."""
        return msgspec.structs.replace(self, data=values)

    def for_people(self) -> "Evidence":
        """A copy without the values for remedies, as findings store it."""
        return self if isinstance(self.data, UnsetType) else msgspec.structs.replace(self, data=UNSET)


class Unknown(CheckValue, frozen=True):
    """The parts were read but do not answer the question; `detail` names the field or object.

    `reason` is set if the answer depends on a part that was not read.
    """

    detail: str
    reason: Reason | None = None


class NotApplicable(CheckValue, frozen=True):
    """The question does not arise in this cluster or at this hop; `detail` says why."""

    detail: str


class Remedy(CheckValue, frozen=True, kw_only=True):
    """One way to fix it. `action` names a karpdash action, only where `how` is `action`."""

    how: RemedyTool
    text: str
    action: str = ""
    change: Change | UnsetType = UNSET
    """The change that the text describes; all remedies of one fix hold the same change. Stored, never published:
    `readiness/published_fields.py`."""


class ManualCheck(CheckValue, frozen=True):
    """karpdash cannot check this. `detail` tells a person what to check and where; `remedies` give commands."""

    detail: str
    remedies: tuple[Remedy, ...] = ()


class LowerBound(CheckValue, frozen=True):
    """The number of causes is a lower bound, because not every object was read; `detail` says which were not."""

    detail: str


class SeverityCap(CheckValue, frozen=True):
    """Limits the severity of this finding, unknown results included. It never raises the severity."""

    severity: Severity


JudgeResult: TypeAlias = Evidence | Unknown | NotApplicable | ManualCheck | LowerBound | SeverityCap


CONFIRMABLE = ("iam_change_known",)
"""Checks whose manual question is answered by a waiver: an audited statement with an owner and an end date."""


class KubernetesAnswer(CheckValue, frozen=True, kw_only=True):
    """How a finding differs once the cluster runs at least that Kubernetes minor, before anything else changes."""

    kubernetes: str
    status: Status
    severity: Severity
    summary: str
    evidence_total: int
    evidence_exact: bool
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()


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
    """False if `evidence_total` is a lower bound, because a list was read only in part or an object did not answer.
    Also False if the status is unknown."""
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    sources: tuple[str, ...] = ()
    reason: Reason | UnsetType = UNSET
    """Why the finding is open, if a part was not read. Stored, never published: `readiness/published_fields.py`."""
    asked_at: Annotated[str, msgspec.Meta(description=ASKED_AT)] | UnsetType = UNSET
    """The earlier hop that reports all causes at the same or a higher severity; here they are unknown until the next
    scan. Published where it is set: such a finding counts neither for this hop's verdict nor,
    without --strict, for an exit code."""

    asks: tuple[str, ...] | UnsetType = UNSET
    """Digests of the questions to a person, if nothing fails: they identify the same question at other hops and in
    other scans. Stored, never published."""

    follows: str | UnsetType = UNSET
    """The check of the same hop whose fix creates or reveals all causes of this finding; before that fix they do not
    exist. Stored, never published."""

    at_kubernetes: tuple[KubernetesAnswer, ...] | UnsetType = UNSET
    """The different answers from later Kubernetes minors on, lowest first, if the check was asked about them. Stored,
    never published."""

    @property
    def waivable(self) -> bool:
        """Whether the finding can be waived: it failed, or a waiver answers its manual question."""
        return self.status == "fail" or (self.status == "manual" and self.id in CONFIRMABLE)

    @property
    def asked_earlier(self) -> bool:
        """Whether an earlier hop of the same path already reports the finding, so that this hop does not repeat it."""
        return not isinstance(self.asked_at, UnsetType)

    @property
    def open_blocker(self) -> bool:
        return self.severity == "blocker" and self.status in ("fail", "unknown", "manual")


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The input of a check: one inventory at one hop. `hop.release` is the target version."""

    inventory: Inventory
    hop: PathHop
    running: DetectedRelease
    stage: str
    now: str
    """Time of the scan in RFC 3339; the clock is read once per scan."""
    owned: Ownership | None = None
    """Owners of the nodes, if already computed: that takes 0.1 s for 2,000 nodes."""
    planned_kubernetes: str = ""
    """The Kubernetes minor that the cluster is to run; empty if none is planned."""

    @property
    def ownership(self) -> Ownership:
        return self.owned or ownership(self.inventory)


Judge = Callable[[CheckContext], Iterable[JudgeResult]]
Advise = Callable[[CheckContext, tuple[Evidence, ...]], Iterable[Remedy]]
FixTest = Callable[[CheckContext, tuple[Evidence, ...]], bool]


@dataclass(slots=True)
class Check:
    """One check; each module of the catalogue declares one as `check`. `judge` and `advise` are decorators.

    `hops` are hop ids or EVERY. `severity_at` overrides `severity` for single hops. `reads` names the parts without
    which the result is unknown. `says` is the headline of a failure, singular and plural, with {count}; the singular
    may also use {name} and {seen} of the only evidence.
    """

    module: str
    title: str
    phase: Phase
    severity: Severity
    why: str
    reads: tuple[str, ...]
    says: tuple[str, str]
    how: str = ""
    """How the check detects a failure, in one sentence for the catalogue: which fields it reads and what it compares
    them with."""
    hops: tuple[str, ...] = EVERY
    severity_at: Mapping[str, Severity] = field(default_factory=dict)
    resolved_by: tuple[str, ...] = ()
    remedy_tools: tuple[RemedyTool, ...] = ()
    """The tools for which the check itself writes remedies."""
    sources: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    kubernetes_limits: tuple[str, ...] = ()
    """The Kubernetes minors from which on the answer may be another one, lowest first."""
    since: str = "0.1.0"
    """The first release of karpdash with this check."""
    _judge: Judge | None = None
    _advise: Advise | None = None
    _fixable: FixTest | None = None

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
        """The headline of a failure with that evidence; if not `exact`, it says that there may be more."""
        count = sum(row.count for row in rows)
        count_text = f"{count}" if exact else f"at least {count}"
        if count == 1:
            more = "" if exact or "{count}" in self.says[0] else "; there may be more"
            return self.says[0].format(count=count_text, name=rows[0].name, seen=rows[0].seen) + more
        return self.says[1].format(count=count_text)

    def severity_without_aws(self, hop: str) -> Severity:
        """The severity at that hop if karpdash has no access to AWS: a blocker becomes a warning. The warning keeps the
        hop from plain "ready", without blocking people who gave access to the cluster only. If AWS refused the request,
        the usual severity applies."""
        usual = self.severity_for(hop)
        return "warning" if usual == "blocker" else usual

    def judge(self, function: Judge) -> Judge:
        """Decorator: the function yields Evidence for each cause, or Unknown, NotApplicable, ManualCheck, LowerBound,
        SeverityCap."""
        self._judge = function
        return function

    def advise(self, function: Advise) -> Advise:
        """Decorator: the function yields Remedies with the real names of the cluster; it is called only after a
        failure."""
        self._advise = function
        return function

    def fixable(self, function: FixTest) -> FixTest:
        """Decorator: the function returns whether the actions of `resolved_by` can fix this failure. Without it they
        always can."""
        self._fixable = function
        return function

    @property
    def tools(self) -> tuple[RemedyTool, ...]:
        """The tools that remedies of the check may be written for, in the order of REMEDY_TOOLS; empty if it has no
        remedies."""
        named = {*self.remedy_tools, "action"} if self.resolved_by else {*self.remedy_tools}
        return tuple(how for how in REMEDY_TOOLS if how in named)

    def ask(self, case: CheckContext) -> tuple[JudgeResult, ...]:
        if self._judge is None:
            raise TypeError(f"{self.module} declares no judge")
        return tuple(self._judge(case))

    def remedies(self, case: CheckContext, evidence: tuple[Evidence, ...]) -> tuple[Remedy, ...]:
        return tuple(self._advise(case, evidence)) if self._advise else ()

    def actions(self, case: CheckContext, evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
        """Ids of the actions that can fix this failure."""
        return self.resolved_by if self._fixable is None or self._fixable(case, evidence) else ()

    def actions_at(self, finding: Finding) -> tuple[str, ...]:
        """Ids of the actions that can fix a stored finding; if they depend on the failure, those that its remedies
        name."""
        if self._fixable is None:
            return self.resolved_by
        named = {remedy.action for remedy in finding.remedies}
        return tuple(name for name in self.resolved_by if name in named)
