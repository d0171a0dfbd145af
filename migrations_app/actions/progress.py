"""Where a rollout stands, told from its plan and the lines of its journal alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from migrations_app.actions.plan import Plan, Step

Phase = Literal["request", "settle", "gate"]
GATE = "gate"
"""The verb of the line that says that a step was verified and its gate passed."""
SKIP = "skip"
"""The verb of the line that says that a step was left out, because its object is not the one that was planned for."""


class Line(Protocol):
    """What of a journal line counts here."""

    @property
    def step(self) -> str: ...
    @property
    def verb(self) -> str: ...
    @property
    def outcome(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Place:
    """The step to work on, what is to be done with it, the line left open, and how often it was refused in a row.

    `in_doubt`: an earlier request of it counts as never arrived, and may have come late. `skipped`: it was left out.
    """

    step: Step
    phase: Phase
    open: Line | None = None
    refusals: int = 0
    in_doubt: bool = False
    skipped: bool = False


def place(plan: Plan, lines: Iterable[Line]) -> Place | None:
    """The first step that is not through; None when all are."""
    by_step: dict[str, list[Line]] = {}
    for line in lines:
        by_step.setdefault(line.step, []).append(line)
    return next((found for step in plan.steps if (found := _of(step, by_step.get(step.id, [])))), None)


def batch_of(plan: Plan, step: Step) -> str:
    """The id of the step whose gate ends the batch that this one belongs to."""
    later = plan.steps[plan.steps.index(step) :]
    return next((one.id for one in later if one.after is not None), later[-1].id)


def begins_batch(plan: Plan, step: Step) -> bool:
    """Whether the step is the first of its batch."""
    place = plan.steps.index(step)
    return place == 0 or plan.steps[place - 1].after is not None


def applied(plan: Plan, lines: Iterable[Line]) -> tuple[Step, ...]:
    """The steps whose request took effect, newest first: what a rollback takes back (A35)."""
    done = {line.step for line in lines if line.verb != GATE and line.outcome == "applied"}
    return tuple(step for step in reversed(plan.steps) if step.id in done)


def _of(step: Step, lines: list[Line]) -> Place | None:
    if any(line.verb == GATE for line in lines):
        return None
    if step.change is None or any(line.outcome in ("applied", "noop") for line in lines):
        return Place(step, "gate", skipped=any(line.verb == SKIP for line in lines))
    last = lines[-1] if lines else None
    if last is not None and last.outcome in ("", "unknown"):
        return Place(step, "settle", last)
    refused = 0
    for line in reversed(lines):
        if line.outcome != "refused":
            break
        refused += 1
    return Place(step, "request", refusals=refused, in_doubt=any(line.outcome == "not_applied" for line in lines))
