"""The result of the rehearsal of all hops to a release, and its text."""

from collections.abc import Iterator
from typing import Literal

from migrations_app.rehearsals.result import RehearsalValue, UnknownPart
from migrations_app.rehearsals.text import duration

SCHEMA = "karpdash/rehearsed-way/v1"
StepEnd = Literal["played", "stops", "not_planned", "by_others", "waits"]
"""`by_others`: a person or another tool does the step, and the rehearsal continues as if it were done."""
_SAID = {
    "played": "rehearsed to its end in {time}",
    "stops": "stops",
    "not_planned": "cannot be planned",
    "by_others": "done by people or tools outside, and taken for done",
    "waits": "waits {time}",
}


class RehearsedStep(RehearsalValue, frozen=True):
    """One step of a hop. `seconds` is simulated time; `code` and `words` give the reason why it stops or cannot be
    planned.
    """

    title: str
    action: str
    ends: StepEnd
    seconds: int
    code: str
    words: str
    checks: tuple[str, ...]
    """The ids of the checks that the step has to fix."""


class RehearsedHop(RehearsalValue, frozen=True, rename={"target_release": "lands"}):
    """One hop: `unknown` are the ids of blocking checks without an answer."""

    hop: str
    starts: str
    target_release: str
    steps: tuple[RehearsedStep, ...]
    unknown: tuple[str, ...]
    nodes: int
    """The number of nodes at the end of the hop."""

    @property
    def stopped(self) -> RehearsedStep | None:
        """The step at which the runbook stops; None if the rehearsal continues."""
        last = self.steps[-1] if self.steps else None
        return last if last is not None and last.ends in ("stops", "not_planned") else None


class RehearsedPath(RehearsalValue, frozen=True):
    """`finished`: every rollout of every hop ended, and every blocking check has an answer."""

    schema: str
    cluster: str
    taken_at: str
    target: str
    seed: int
    finished: bool
    hops: tuple[RehearsedHop, ...]
    seconds: int
    nodes_before: int
    nodes_peak: int | None
    pods_moved: int
    unknown: tuple[UnknownPart, ...]
    assumptions: tuple[str, ...]


def render_path(result: RehearsedPath) -> str:
    """The whole text; it ends in a line break."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: RehearsedPath) -> Iterator[str]:
    yield f"{result.cluster}: the path to {result.target} (read {result.taken_at}; seed {result.seed})"
    for hop in result.hops:
        yield ""
        yield f"Hop {hop.hop}: {hop.starts} to {hop.target_release}"
        for step in hop.steps:
            yield f"  {step.title}: {_SAID[step.ends].format(time=duration(step.seconds))}"
            if step.words:
                yield f"    {step.code}: {step.words}"
        if hop.unknown:
            yield f"  not answered, and blocks: {', '.join(hop.unknown)}"
    yield ""
    yield _ending(result)
    peak = "not known" if result.nodes_peak is None else str(result.nodes_peak)
    yield f"Nodes: {result.nodes_before} before, {peak} at the peak; {result.pods_moved} pods moved."
    for title, lines in (
        ("Not known:", [unknown_part.words for unknown_part in result.unknown]),
        ("Assumed:", list(result.assumptions)),
    ):
        if lines:
            yield ""
            yield title
            yield from (f"  {words}" for words in lines)


def _ending(result: RehearsedPath) -> str:
    last = result.hops[-1] if result.hops else None
    if last is None:
        return "Nothing is left to do."
    if last.stopped is not None:
        return f"The runbook stops at hop {last.hop}: {last.stopped.title}."
    if not result.finished:
        return "Every rollout ends; but checks that block have no answer."
    return f"Every rollout of {len(result.hops)} hops ends, after {duration(result.seconds)}."
