"""A rehearsal's forecast beside what happened in the real run."""

from collections.abc import Iterator
from typing import Literal

from migrations_app.actions.observation import RunObservation
from migrations_app.use_cases.rehearsals.result import RehearsalResult, RehearsalValue

Agreement = Literal["as_foretold", "more", "less", "other", "unknown"]
SAME_TIME = 10
"""Percent of the foretold time within which a run took as long as was foretold."""


class ComparedMeasure(RehearsalValue, frozen=True):
    """One measure; None: not known. `at_least`: what happened is a lower bound."""

    measure: Literal["seconds", "nodes_peak", "pods_moved", "pods_held"]
    foretold: int | None
    happened: int | None
    agreement: Agreement
    at_least: bool = False


class HeldComparison(RehearsalValue, frozen=True):
    """How many pods a budget, or `annotation`, held."""

    by: str
    foretold: int | None
    happened: int


class ForecastComparison(RehearsalValue, frozen=True):
    """`ended` is the state in which the rollout ended; `order` compares the order of the nodes."""

    finished: bool
    """Whether the rehearsal ran to its end."""
    ended: str
    lines: tuple[ComparedMeasure, ...]
    held: tuple[HeldComparison, ...]
    order: Agreement
    order_foretold: tuple[str, ...]
    order_happened: tuple[str, ...]
    cut: bool
    """Whether more was seen than is kept."""

    @property
    def agreements(self) -> Iterator[tuple[str, str]]:
        """Each measure with how it agrees, for counters."""
        yield from ((line.measure, line.agreement) for line in self.lines)
        yield "order", self.order


def compare(result: RehearsalResult, seen: RunObservation, *, seconds: int, ended: str) -> ForecastComparison:
    """The forecast beside what happened: the run took that many seconds and ended in that state."""
    looked = seen.looks > 0
    held = {one.by: one.pods for one in result.held or ()}
    names = sorted({*held, *seen.held})
    return ForecastComparison(
        finished=result.finished,
        ended=ended,
        lines=(
            _line("seconds", result.seconds, seconds, tolerance=SAME_TIME),
            _line("nodes_peak", result.nodes_peak, seen.nodes_peak, at_least=True),
            _line("pods_moved", result.pods_moved, seen.pods_moved if looked else None, at_least=True),
            _line("pods_held", _sum(result), seen.pods_held if looked else None, at_least=True),
        ),
        held=tuple(
            HeldComparison(
                by=by,
                foretold=None if result.held is None else held.get(by, 0),
                happened=len(seen.held.get(by, ())),
            )
            for by in names
        ),
        order=_order(result.drained, seen.drained) if looked else "unknown",
        order_foretold=result.drained,
        order_happened=seen.nodes_drained,
        cut=seen.cut,
    )


def _sum(result: RehearsalResult) -> int | None:
    return None if result.held is None else sum(one.pods for one in result.held)


def _line(
    measure: Literal["seconds", "nodes_peak", "pods_moved", "pods_held"],
    foretold: int | None,
    happened: int | None,
    *,
    at_least: bool = False,
    tolerance: int = 0,
) -> ComparedMeasure:
    agreement: Agreement = "unknown"
    if foretold is not None and happened is not None:
        near = abs(happened - foretold) * 100 <= foretold * tolerance
        agreement = "as_foretold" if near else "more" if happened > foretold else "less"
    return ComparedMeasure(
        measure=measure, foretold=foretold, happened=happened, at_least=at_least, agreement=agreement
    )


def _order(foretold: tuple[str, ...], looks: tuple[tuple[str, ...], ...]) -> Agreement:
    """`more` or `less` nodes were drained than foretold, `other` ones or in another order, or all as foretold.

    Nodes that were first seen at the same look have no order among them.
    """
    happened = {name for group in looks for name in group}
    if set(foretold) != happened:
        if set(foretold) < happened:
            return "more"
        return "less" if happened < set(foretold) else "other"
    places = {name: place for place, group in enumerate(looks) for name in group}
    order = [places[name] for name in foretold]
    return "as_foretold" if order == sorted(order) else "other"
