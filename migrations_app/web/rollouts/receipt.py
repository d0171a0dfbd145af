"""The receipt of a rollout for the change ticket: what was done, by whom, how it went, as values and as Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from migrations_app.actions.durations import duration_text
from migrations_app.queries.rollouts.detail import RolloutDetail, StepLine
from migrations_app.queries.rollouts.samples import CounterExtremes
from migrations_app.readiness.outputs.markdown import table, text
from migrations_app.rehearsals.comparison import ForecastComparison
from migrations_app.web.rollouts.forecast import forecast_rows

ENDED = ("succeeded", "failed", "aborted", "rolled_back")


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutReceipt:
    """The facts of the receipt as pairs of word and value, and its steps."""

    title: str
    result: str
    facts: tuple[tuple[str, str], ...]
    steps: tuple[StepLine, ...]


def receipt(
    detail: RolloutDetail,
    *,
    worst: CounterExtremes,
    audit: tuple[int, int] | None,
    forecast: ForecastComparison | None = None,
) -> RolloutReceipt | None:
    """Returns the receipt of a rollout that was started and has ended; None before. `audit` is its range of audit
    events.
    """
    if detail.row.state not in ENDED or detail.row.started_at is None:
        return None
    facts = (*_people(detail), *_course(detail), *_extremes(worst), *_foretold(forecast), *_records(detail, audit))
    result = _word(detail.row.state)
    return RolloutReceipt(title=detail.row.title, result=result, facts=facts, steps=detail.steps)


def _people(detail: RolloutDetail) -> Iterator[tuple[str, str]]:
    row = detail.row
    yield "Cluster", f"{row.cluster_name} ({row.environment})" if row.environment else row.cluster_name
    if row.ticket:
        yield "Ticket", row.ticket
    yield "Requested by", row.author
    if detail.approvals:
        alone = (f"{approval.by}{' (alone, break glass)' if approval.alone else ''}" for approval in detail.approvals)
        yield "Approved by", ", ".join(alone)
    yield "Started by", row.started_by


def _course(detail: RolloutDetail) -> Iterator[tuple[str, str]]:
    row = detail.row
    if row.started_at:
        yield "Started", _utc(row.started_at)
    if row.started_at and row.finished_at:
        yield "Finished", _utc(row.finished_at)
        yield "Duration from the start", duration_text(row.finished_at - row.started_at)
    yield "Steps done", f"{detail.done} of {len(detail.steps)}"
    if detail.left_out:
        yield "Steps left out", str(detail.left_out)
    if detail.skipped_nodes:
        yield (
            "Nodes skipped",
            "; ".join(
                f"{skipped_node.node} ({skipped_node.by}: {skipped_node.reason})"
                for skipped_node in detail.skipped_nodes
            ),
        )
    requests = [line for step in detail.steps for line in step.lines if line.status is not None]
    yield "Requests sent", str(len(requests))
    yield "Requests refused", str(sum(line.outcome == "refused" for line in requests))
    if row.cause or row.cause_code:
        yield "Reason", row.cause or _word(row.cause_code)


def _extremes(worst: CounterExtremes) -> Iterator[tuple[str, str]]:
    for word, count in (
        ("Least Ready nodes", worst.least_ready),
        ("Most Pending pods", worst.most_pending),
        ("Most pods held back at once", worst.most_held),
    ):
        yield word, "not counted" if count is None else str(count)


def _foretold(forecast: ForecastComparison | None) -> Iterator[tuple[str, str]]:
    if forecast is None:
        return
    for row in forecast_rows(forecast):
        yield f"{row.word}: rehearsal, then run", f"{row.foretold}; {row.happened} ({row.agreement})"


def _records(detail: RolloutDetail, audit: tuple[int, int] | None) -> Iterator[tuple[str, str]]:
    yield "Plan", detail.row.digest
    yield "Objects backed up", str(len(detail.exports))
    if audit:
        yield "Audit events", f"{audit[0]} to {audit[1]}"


def as_markdown(rollout_receipt: RolloutReceipt) -> str:
    """The receipt as Markdown; untrusted text is escaped."""
    facts = ((word, text(value)) for word, value in rollout_receipt.facts)
    steps = (
        (line.step.id, text(line.step.title), _word(line.standing), _ended(line)) for line in rollout_receipt.steps
    )
    lines = (
        f"# {text(rollout_receipt.title)}: {rollout_receipt.result}",
        "",
        *table(("", ""), facts),
        "",
        *table(("step", "change", "result", "at"), steps),
    )
    return "\n".join(lines) + "\n"


def _ended(line: StepLine) -> str:
    times = [journal_line.outcome_at for journal_line in line.lines if journal_line.outcome_at]
    return _utc(times[-1]) if times else ""


def _word(code: str) -> str:
    return code.replace("_", " ")


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
