"""The plan of a journey: its steps, the outlines of their plans, and the digest that people approve."""

import hashlib
from typing import Any

import msgspec

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.actions.plan import canonical
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.states import StepKind

COMPOSER_VERSION = 1
"""Incremented if the meaning of a stored journey changes: a journey with another number is not started."""
LIFETIME_SECONDS = 24 * 3600
"""How long a preview stays valid before its start."""
COVER_SECONDS = 7 * 24 * 3600
"""How long after its start the approval of a journey covers the plans of its steps."""
COVERABLE: tuple[Risk, ...] = ("low", "medium", "high")
"""Limits of risk that an author may choose; a destructive plan always needs its own approval."""
FORM_COVERS: Risk = "medium"
"""The limit that forms choose first: nobody covers plans of high risk without choosing to. REST keeps `high`, which is
part of its contract."""


class Command(msgspec.Struct, frozen=True):
    """A command for a step by hand: the tool and the text."""

    tool: str
    text: str


class JourneyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `checks` are the ids of checks that have to be in order afterwards; `release` has to run then.

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
    """The rollout itself reads the proof at its end: the step waits for no scan."""
    back: str = ""
    """How to go back during the step."""
    no_return: tuple[str, ...] = ()
    """What cannot be undone after the step."""


class JourneyPlan(msgspec.Struct, frozen=True, kw_only=True, rename={"target_release": "lands"}):
    """Everything that is approved: the steps, the outlines of their plans, and the highest risk that the approval
    covers.

    `shown` has the outline of each plan that could be made at the preview, by the id of its step.
    """

    cluster: str
    hop: str
    starts: str
    target_release: str
    covers: Risk
    steps: tuple[JourneyStep, ...]
    shown: dict[str, Outline] = {}
    author: str = ""
    snapshot: str = ""
    composer: int = COMPOSER_VERSION

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
        """Returns the step with that id. Raises KeyError."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)


def coverable(outline: Outline, *, limit: Risk) -> bool:
    """Returns whether an approval of the journey may cover that plan: its risk is within the limit, and no step
    lacks proof."""
    return RISKS.index(outline.risk) <= RISKS.index(limit) and outline.risk in COVERABLE and not outline.doubts
