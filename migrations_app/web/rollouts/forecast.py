"""Compares a rehearsal's forecast with the real run, as texts for the page and the receipt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from migrations_app.actions.durations import duration_text
from migrations_app.rehearsals.comparison import (
    Agreement,
    ComparedMeasure,
    ForecastComparison,
    HeldComparison,
)
from migrations_app.texts import text as _

MEASURES: Mapping[str, str] = {
    "seconds": _("Duration from the first request"),
    "nodes_peak": _("Nodes at the peak"),
    "pods_moved": _("Pods moved"),
    "budgets_held": _("Budgets that held pods"),
}
AGREEMENTS: Mapping[Agreement, str] = {
    "as_foretold": _("as foretold"),
    "more": _("more than foretold"),
    "less": _("less than foretold"),
    "other": _("other than foretold"),
    "unknown": _("not known"),
}
TONES: Mapping[Agreement, str] = {"as_foretold": "pass", "unknown": "unknown"}
UNKNOWN = _("not known")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One measure as texts."""

    word: str
    foretold: str
    happened: str
    agreement: str
    tone: str


def forecast_rows(comparison: ForecastComparison) -> tuple[ForecastRow, ...]:
    """Returns rows for the end, each measure, the budgets that blocked pods, and the order of the nodes."""
    ending = ForecastRow(
        word=_("End"),
        foretold="reached" if comparison.finished else _("not reached"),
        happened=comparison.ended.replace("_", " "),
        agreement=AGREEMENTS["as_foretold" if comparison.finished == (comparison.ended == "succeeded") else "other"],
        tone=TONES.get(
            "as_foretold" if comparison.finished == (comparison.ended == "succeeded") else "other", "warning"
        ),
    )
    order = ForecastRow(
        word=_("Order of nodes"),
        foretold=_("{count} nodes drained").format(count=len(comparison.order_foretold)),
        happened=UNKNOWN
        if comparison.order == "unknown"
        else _("{count} nodes drained").format(count=len(comparison.order_happened)),
        agreement=AGREEMENTS[comparison.order],
        tone=TONES.get(comparison.order, "warning"),
    )
    return (ending, *(_row(line) for line in comparison.lines), *_budget_rows(comparison), order)


def _row(line: ComparedMeasure) -> ForecastRow:
    happened = _words(line, line.happened)
    return ForecastRow(
        word=MEASURES[line.measure],
        foretold=_words(line, line.foretold),
        happened=_("at least {happened}").format(happened=happened)
        if line.at_least and line.happened is not None
        else happened,
        agreement=AGREEMENTS[line.agreement],
        tone=TONES.get(line.agreement, "warning"),
    )


def _words(line: ComparedMeasure, count: int | None) -> str:
    if count is None:
        return UNKNOWN
    return duration_text(timedelta(seconds=count)) if line.measure == "seconds" else f"{count:,}"


def _budget_rows(forecast: ForecastComparison) -> tuple[ForecastRow, ...]:
    """Returns rows of pods blocked by each budget; pods that the run did not try are no difference."""
    return tuple(
        ForecastRow(
            word=_("Held by annotations")
            if comparison.by == "annotation"
            else _("Held by PDB {by}").format(by=comparison.by),
            foretold=UNKNOWN
            if comparison.foretold is None
            else _("{foretold:,} evictions refused").format(foretold=comparison.foretold),
            happened=_("{happened:,} pods seen behind it").format(happened=comparison.happened),
            agreement=AGREEMENTS[_standing(comparison)],
            tone=TONES.get(_standing(comparison), "warning"),
        )
        for comparison in forecast.held
    )


def _standing(comparison: HeldComparison) -> Agreement:
    """Returns whether the budget blocked pods in both, or in one of them only."""
    if comparison.foretold is None:
        return "unknown"
    return "as_foretold" if bool(comparison.foretold) == bool(comparison.happened) else "other"
