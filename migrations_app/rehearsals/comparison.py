"""Compares a rehearsal's forecast with the real run."""

from collections.abc import Iterator
from typing import Literal

from migrations_app.actions.observation import RunObservation
from migrations_app.rehearsals.result import RehearsalResult, RehearsalValue

Agreement = Literal["as_foretold", "more", "less", "other", "unknown"]
TIME_TOLERANCE_PERCENT = 10
"""Maximum difference, in percent of the forecast time, for a run to count as on time."""


class ComparedMeasure(RehearsalValue, frozen=True):
    """One measure; None means not known. With `at_least`, the real value is a lower bound."""

    measure: Literal["seconds", "nodes_peak", "pods_moved", "budgets_held"]
    foretold: int | None
    happened: int | None
    agreement: Agreement
    at_least: bool = False


class HeldComparison(RehearsalValue, frozen=True):
    """The pods that a budget, or `annotation`, held: refused evictions in the forecast, and pods seen behind it on
    drained nodes in the run. Not every such pod was evicted, so the numbers may differ.
    """

    by: str
    foretold: int | None
    happened: int


class ForecastComparison(RehearsalValue, frozen=True):
    """`ended` is the state in which the rollout ended; `order` compares the order of the nodes."""

    finished: bool
    """Whether the rehearsal completed the plan."""
    ended: str
    lines: tuple[ComparedMeasure, ...]
    held: tuple[HeldComparison, ...]
    order: Agreement
    order_foretold: tuple[str, ...]
    order_happened: tuple[str, ...]
    cut: bool
    """Whether more was observed than is stored."""

    @property
    def agreements(self) -> Iterator[tuple[str, str]]:
        """The agreement of each measure, for counters."""
        yield from ((line.measure, line.agreement) for line in self.lines)
        yield "order", self.order


def compare(
    result: RehearsalResult, seen: RunObservation, *, seconds: int, ended: str, between_looks: int
) -> ForecastComparison:
    """Compares the forecast with the run, which took `seconds` and ended in the state `ended`.

    Times that differ by less than two reads of the cluster, `between_looks` seconds apart, count as equal: in a real
    run the first and the last change are only seen at the next read.
    """
    looked = seen.looks > 0
    foretold_pods = {eviction.by: eviction.pods for eviction in result.held or ()}
    names = sorted({*foretold_pods, *seen.held})
    return ForecastComparison(
        finished=result.finished,
        ended=ended,
        lines=(
            _line(
                "seconds",
                foretold=result.seconds,
                happened=seconds,
                tolerance=TIME_TOLERANCE_PERCENT,
                slack=2 * between_looks,
            ),
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
    """Compares the budgets that held pods; all annotations count as one budget."""
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
    """Compares the order of drained nodes: `more` or `less` than in the forecast, `other` nodes or another order, or as
    forecast. Nodes first seen in the same read have no order among them.
    """
    happened = {name for group in looks for name in group}
    if set(foretold) != happened:
        return _sets(set(foretold), happened)
    places = {name: place for place, group in enumerate(looks) for name in group}
    order = [places[name] for name in foretold]
    return "as_foretold" if order == sorted(order) else "other"
