"""The frame of a check: one question, named after the good state, put to the parts that it names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from migrations_app.checks.values import EVERY, HOWS, Evidence, How, Phase, Remedy, Severity, Word
from migrations_app.inventory.inventory import AWS_PARTS, PART_NAMES, Inventory
from migrations_app.inventory.ownership import Ownership, ownership
from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.hops import Step


@dataclass(frozen=True, slots=True)
class Case:
    """What a check is asked about: one inventory at one hop. `step.release` is the release that the hop lands on."""

    inventory: Inventory
    step: Step
    running: Detected
    stage: str
    now: str
    """RFC 3339; the one clock reading of the scan."""
    owned: Ownership | None = None
    """Who owns the nodes, where that was worked out before: it takes 0.1 s for 2,000 nodes."""

    @property
    def ownership(self) -> Ownership:
        return self.owned or ownership(self.inventory)

    @property
    def hop(self) -> str:
        return self.step.hop


Judge = Callable[[Case], Iterable[Word]]
Advise = Callable[[Case, tuple[Evidence, ...]], Iterable[Remedy]]


@dataclass(slots=True)
class Check:
    """Declared once per catalogue module as `check`; `judge` and `advise` are decorators.

    `hops` are hop ids or EVERY. `severity_at` overrides `severity` per hop. `reads` names the parts without which the
    answer is unknown. `says` is the summary of a failure, singular and plural, with {count}.
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

    @property
    def tools(self) -> tuple[How, ...]:
        """Every tool that a remedy of the check may be for, in the order of `How`; empty where it gives none."""
        named = {*self.remedy_tools, "action"} if self.resolved_by else {*self.remedy_tools}
        return tuple(how for how in HOWS if how in named)

    def ask(self, case: Case) -> tuple[Word, ...]:
        if self._judge is None:
            raise TypeError(f"{self.module} declares no judge")
        return tuple(self._judge(case))

    def remedies(self, case: Case, evidence: tuple[Evidence, ...]) -> tuple[Remedy, ...]:
        return tuple(self._advise(case, evidence)) if self._advise else ()
