"""What a journey will do, as values: its steps, what was shown of them, and the digest that people approve."""

import hashlib
from typing import Any

import msgspec

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.actions.plan import canonical
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.states import StepKind

COMPOSER = 1
"""Incremented with every change of what a stored journey means: one with another number is not begun."""
LIFETIME_SECONDS = 24 * 3600
"""How long a preview may wait for its start."""
COVER_SECONDS = 7 * 24 * 3600
"""How long after its start the approval of a journey covers the plans of its steps."""
COVERABLE: tuple[Risk, ...] = ("low", "medium", "high")
"""Limits that an author may choose; a destructive plan is always approved by itself."""


class Command(msgspec.Struct, frozen=True):
    """How a person does a step by hand: the tool and its text."""

    tool: str
    text: str


class JourneyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `checks` are the ids that a scan has to find in order afterwards; `release` has to run then.

    `action` and `parameters` are for karpdash, `commands` for people, `seconds` for a step that waits.
    """

    id: str
    kind: StepKind
    title: str
    phase: str
    checks: tuple[str, ...] = ()
    release: str = ""
    action: str = ""
    parameters: dict[str, Any] = {}
    commands: tuple[Command, ...] = ()
    seconds: int = 0
    protects: bool = False
    settled: bool = False
    """What its rollout reads itself at its end is the proof: no scan is waited for."""
    back: str = ""
    """How one goes back while it is being done."""
    no_return: tuple[str, ...] = ()
    """What cannot be undone once it is done."""


class JourneyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is approved: the steps, what was shown of each, and the risk up to which the approval counts.

    `shown` holds the outline of each plan that could be made at the preview, by the id of its step.
    """

    cluster: str
    hop: str
    starts: str
    lands: str
    covers: Risk
    steps: tuple[JourneyStep, ...]
    shown: dict[str, Outline] = {}
    author: str = ""
    snapshot: str = ""
    composer: int = COMPOSER

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text."""
        return hashlib.sha256(canonical(self)).hexdigest()

    @property
    def risk(self) -> Risk | None:
        """The highest risk that the approval covers; None if it covers no plan."""
        risks = [outline.risk for outline in self.shown.values() if coverable(outline, limit=self.covers)]
        return max(risks, key=RISKS.index, default=None)

    def step(self, step_id: str) -> JourneyStep:
        """The step of that id. Raises KeyError."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)


def coverable(outline: Outline, *, limit: Risk) -> bool:
    """Whether an approval of the journey may cover that plan: its risk is within the limit and nothing is in doubt."""
    return RISKS.index(outline.risk) <= RISKS.index(limit) and outline.risk in COVERABLE and not outline.doubts
