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

    measure: Literal["seconds", "nodes_peak", "pods_moved", "budgets_held"]
    foretold: int | None
    happened: int | None
    agreement: Agreement
    at_least: bool = False


class HeldComparison(RehearsalValue, frozen=True):
    """A budget, or `annotation`, that held pods: evictions that were foretold to be refused, and pods that were seen
    behind it on drained nodes. The latter are not all tried, so that both numbers differ.
    """

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


def compare(
    result: RehearsalResult, seen: RunObservation, *, seconds: int, ended: str, between_looks: int
) -> ForecastComparison:
    """The forecast beside what happened: the run took that many seconds and ended in that state.

    Times that differ by less than two looks at the cluster, of `between_looks` seconds, are the same: the first and the
    last change are seen at the next look, which a rehearsal does not wait for.
    """
    looked = seen.looks > 0
    foretold_pods = {eviction.by: eviction.pods for eviction in result.held or ()}
    names = sorted({*foretold_pods, *seen.held})
    return ForecastComparison(
        finished=result.finished,
        ended=ended,
        lines=(
            _line("seconds", foretold=result.seconds, happened=seconds, tolerance=SAME_TIME, slack=2 * between_looks),
            _line("nodes_peak", foretold=result.nodes_peak, happened=seen.nodes_peak, at_least=True),
            _line(
                "pods_moved", foretold=result.pods_moved, happened=seen.pods_moved if looked else None, at_least=True
            ),
            _budgets(result, seen),
        ),
        held=tuple(
            HeldComparison(
                by=by,
                foretold=None if result.held is None else foretold_pods.get(by, 0),
                happened=len(seen.held.get(by, ())),
            )
            for by in names
        ),
        order=_order(result.drained, seen.drained) if looked else "unknown",
        order_foretold=result.drained,
        order_happened=seen.nodes_drained,
        cut=seen.cut,
    )


def _budgets(result: RehearsalResult, seen: RunObservation) -> ComparedMeasure:
    """Which budgets held pods, annotations counted as one."""
    if result.held is None or not seen.looks:
        count = None if result.held is None else len(result.held)
        return ComparedMeasure(
            measure="budgets_held", foretold=count, happened=None, agreement="unknown", at_least=True
        )
    foretold, happened = {eviction.by for eviction in result.held}, set(seen.held)
    return ComparedMeasure(
        measure="budgets_held",
        foretold=len(foretold),
        happened=len(happened),
        agreement="as_foretold" if foretold == happened else _sets(foretold, happened),
        at_least=True,
    )


def _sets(foretold: set[str], happened: set[str]) -> Agreement:
    if foretold < happened:
        return "more"
    return "less" if happened < foretold else "other"


def _line(
    measure: Literal["seconds", "nodes_peak", "pods_moved", "budgets_held"],
    *,
    foretold: int | None,
    happened: int | None,
    at_least: bool = False,
    tolerance: int = 0,
    slack: int = 0,
) -> ComparedMeasure:
    agreement: Agreement = "unknown"
    if foretold is not None and happened is not None:
        near = abs(happened - foretold) * 100 <= max(foretold * tolerance, slack * 100)
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
        return _sets(set(foretold), happened)
    places = {name: place for place, group in enumerate(looks) for name in group}
    order = [places[name] for name in foretold]
    return "as_foretold" if order == sorted(order) else "other"
