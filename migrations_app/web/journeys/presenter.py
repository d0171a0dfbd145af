"""Decides which forms the page of a journey shows, and why a form is disabled."""

from collections.abc import Callable

from django.utils import timezone

from migrations_app.access import Person, Refusal, may_approve, may_prepare, may_resolve, may_start, may_stop
from migrations_app.actions.changes import Risk
from migrations_app.journeys.rollback import UNDO_NEEDED
from migrations_app.journeys.states import JOURNEY_STATES
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.journeys.journeys import JourneyDetail, StepRow
from migrations_app.queries.rollouts.policies import risk_of
from migrations_app.use_cases.journeys.lifecycle import NEEDS_ACCEPTANCE
from migrations_app.use_cases.journeys.steps import CONFIRMABLE
from migrations_app.use_cases.rollouts.approvals import TYPED

POLLED = ("draft", "running")
"""States in which the page polls for updates."""
RESTORING_STOPPED = ("failed", "aborted", "rejected", "paused", "needs_attention", "expired")
"""States of the restoring rollout in which a person may request it again."""
JourneyForms = dict[str, str | None]
"""Why a form is disabled, by its name: empty if it is not; None if it is not shown."""


def forms_of(detail: JourneyDetail, person: Person) -> JourneyForms:
    """Returns the forms that concern the whole journey."""
    state = detail.row.state
    rules: dict[str, tuple[tuple[str, ...], Callable[[Person], Refusal | None]]] = {
        "ask": (("previewed",), may_prepare),
        "start": (("approved",), may_start),
        "pause": (("running", "paused") if _goes_on(detail) else ("running",), may_stop),
        "resume": (("paused",) if _resumable(detail) else (), may_start),
        "abort": (("running", "paused"), may_stop),
        "take_back": (("running", "paused") if detail.reached and not _holds_disruption(detail) else (), may_start),
        "pause_hold": (("running",), may_start),
        "hold": (("paused",) if not _holds_disruption(detail) else (), may_start),
        "release": (tuple(JOURNEY_STATES) if _holds_disruption(detail) and not _restoring(detail) else (), may_start),
        "reject": (("draft", "previewed", "awaiting_approval", "approved"), may_stop),
    }
    refusals: JourneyForms = {
        name: _reason(may(person)) if state in states else None for name, (states, may) in rules.items()
    }
    refusals["approve"] = _reason(_approving(detail, person)) if state == "awaiting_approval" else None
    return refusals


def is_polled(detail: JourneyDetail) -> bool:
    """Whether the page polls for updates: also while disruption budgets are held or restored."""
    return detail.row.state in POLLED or _holds_disruption(detail)


def step_forms(detail: JourneyDetail, person: Person) -> JourneyForms:
    """Returns the forms of the current step."""
    step, row = detail.current, detail.row
    if step is None or row.state not in ("running", "paused"):
        return {"tick": None, "accept": None, "retry": None, "skip": None}
    asks = row.state == "paused" and row.cause_code in NEEDS_ACCEPTANCE
    undone = step.state == "undoing"
    ticks = row.state == "running" and (
        row.wait_code == UNDO_NEEDED if undone else row.wait_code in CONFIRMABLE and step.state == "running"
    )
    return {
        "tick": _reason(may_resolve(person)) if ticks else None,
        "accept": _reason(may_start(person)) if asks else None,
        "retry": _reason(may_start(person)) if asks or step.state == "failed" else None,
        "skip": None if step.definition.protects or undone else _reason(may_start(person)),
    }


def waits_for_scan(detail: JourneyDetail) -> bool:
    """Whether the current step is done by people or other tools, and a scan can show that it is."""
    step = detail.current
    if step is None or step.state != "running" or detail.row.state != "running":
        return False
    what = step.definition
    return what.kind in ("outside", "person") and bool(what.checks or what.release)


def rollback_target(detail: JourneyDetail, step_id: str, *, forms: JourneyForms) -> StepRow | None:
    """Returns the step that the user chose to roll the journey back to; None without a choice, or if a rollback is not
    offered.
    """
    if forms["take_back"] is None:
        return None
    return next((step_row for step_row in detail.reached if step_row.definition.id == step_id), None)


def must_type_name(detail: JourneyDetail) -> bool:
    """Whether an approver has to type the name of the cluster."""
    return bool(detail.risk) and detail.risk in TYPED


def shown_step(detail: JourneyDetail) -> StepRow | None:
    """Returns the step that the page shows first: the current step, or the first one that is not done."""
    left = next((step for step in detail.steps if step.state not in ("done", "skipped")), None)
    return detail.current or left


def _holds_disruption(detail: JourneyDetail) -> bool:
    return detail.disruption_hold is not None and detail.disruption_hold.open


def _restoring(detail: JourneyDetail) -> bool:
    """Whether the budgets are being restored; False if that stopped, so that a person can request it again."""
    hold = detail.disruption_hold
    return hold is not None and hold.asked_for == "released" and hold.state not in RESTORING_STOPPED


def _goes_on(detail: JourneyDetail) -> bool:
    """Whether the journey resumes without a person once the budgets are restored."""
    hold = detail.disruption_hold
    return hold is not None and hold.open and hold.resumes and not hold.stopped


def _resumable(detail: JourneyDetail) -> bool:
    step = detail.current
    if _goes_on(detail) and _restoring(detail):
        return False  # it goes on by itself
    return detail.row.cause_code not in NEEDS_ACCEPTANCE and (step is None or step.state != "failed")


def _approving(detail: JourneyDetail, person: Person) -> Refusal | None:
    risk: Risk = risk_of(detail.risk) if detail.risk else "low"
    author = detail.row.author_id or 0
    return may_approve(person, author=author, makers=makers_of(author), risk=risk, now=timezone.now())


def _reason(refusal: Refusal | None) -> str:
    return refusal.why if refusal else ""
