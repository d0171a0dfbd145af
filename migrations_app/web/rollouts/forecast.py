"""A rehearsal's forecast beside what happened, in words for the page and the receipt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from migrations_app.actions.spans import span_words
from migrations_app.use_cases.rehearsals.comparison import (
    Agreement,
    ComparedMeasure,
    ForecastComparison,
    HeldComparison,
)

MEASURES: Mapping[str, str] = {
    "seconds": "Time",
    "nodes_peak": "Nodes at the peak",
    "pods_moved": "Pods moved",
    "budgets_held": "Budgets that held pods",
}
AGREEMENTS: Mapping[Agreement, str] = {
    "as_foretold": "as foretold",
    "more": "more than foretold",
    "less": "less than foretold",
    "other": "other than foretold",
    "unknown": "not known",
}
TONES: Mapping[Agreement, str] = {"as_foretold": "pass", "unknown": "unknown"}
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One measure in words."""

    word: str
    foretold: str
    happened: str
    agreement: str
    tone: str


def forecast_rows(told: ForecastComparison) -> tuple[ForecastRow, ...]:
    """The end, each measure, the budgets that held pods, and the order of the nodes."""
    ending = ForecastRow(
        word="End",
        foretold="reached" if told.finished else "not reached",
        happened=told.ended.replace("_", " "),
        agreement=AGREEMENTS["as_foretold" if told.finished == (told.ended == "succeeded") else "other"],
        tone=TONES.get("as_foretold" if told.finished == (told.ended == "succeeded") else "other", "warning"),
    )
    order = ForecastRow(
        word="Order of nodes",
        foretold=f"{len(told.order_foretold)} nodes drained",
        happened=UNKNOWN if told.order == "unknown" else f"{len(told.order_happened)} nodes drained",
        agreement=AGREEMENTS[told.order],
        tone=TONES.get(told.order, "warning"),
    )
    return (ending, *(_row(line) for line in told.lines), *_held(told), order)


def _row(line: ComparedMeasure) -> ForecastRow:
    happened = _words(line, line.happened)
    return ForecastRow(
        word=MEASURES[line.measure],
        foretold=_words(line, line.foretold),
        happened=f"at least {happened}" if line.at_least and line.happened is not None else happened,
        agreement=AGREEMENTS[line.agreement],
        tone=TONES.get(line.agreement, "warning"),
    )


def _words(line: ComparedMeasure, count: int | None) -> str:
    if count is None:
        return UNKNOWN
    return span_words(timedelta(seconds=count)) if line.measure == "seconds" else f"{count:,}"


def _held(told: ForecastComparison) -> tuple[ForecastRow, ...]:
    """The pods behind each budget: those that were not all tried in the run are no difference."""
    return tuple(
        ForecastRow(
            word="Held by annotations" if one.by == "annotation" else f"Held by PDB {one.by}",
            foretold=UNKNOWN if one.foretold is None else f"{one.foretold:,} evictions refused",
            happened=f"{one.happened:,} pods seen behind it",
            agreement=AGREEMENTS[_standing(one)],
            tone=TONES.get(_standing(one), "warning"),
        )
        for one in told.held
    )


def _standing(one: HeldComparison) -> Agreement:
    """Whether it held pods in both, or in one of them only."""
    if one.foretold is None:
        return "unknown"
    return "as_foretold" if bool(one.foretold) == bool(one.happened) else "other"
