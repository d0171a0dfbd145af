"""Every change of a journey or of its steps: compare-and-set, audit event and outbox row in one transaction.

No other code changes a state. `migrations_app/journeys/states.py` decides which state may follow which.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from migrations_app.errors import Conflict, NotFound
from migrations_app.journeys.plan import JourneyPlan, JourneyStep
from migrations_app.journeys.states import JourneyProgress, JourneyState, StepProgress, can_transition
from migrations_app.models.journey import Journey, JourneyHold, JourneyStepRow
from migrations_app.models.rollout import Outbox
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseToken

CRASH_POINTS = ("before_store", "after_store", "after_draft", "after_ask", "after_cover", "after_start", "after_back")


def _nothing(_name: str) -> None:
    return


reached: Callable[[str], None] = _nothing
"""Called with the name of the point that was reached; a test process replaces it to crash there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyEvent:
    """An event for the audit log: its verb, its actor, a stable code, and text for the page.

    `tells` is the topic of a notification, empty for none. `lease_token` is the fencing token of a worker.
    """

    verb: str
    by: Actor
    code: str = ""
    words: str = ""
    step: str = ""
    tells: str = ""
    lease_token: LeaseToken | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LoadedJourney:
    """A journey with its steps as read from the database; `row.version` guards both."""

    row: Journey
    steps: list[JourneyStepRow]

    @property
    def progress(self) -> JourneyProgress:
        progresses = (
            StepProgress(_as_state(step.state), protects=bool(definition(step).protects)) for step in self.steps
        )
        return JourneyProgress(_as_state(self.row.state), tuple(progresses))

    @property
    def current(self) -> JourneyStepRow | None:
        """The step whose turn it is; None if none is left."""
        place = self.progress.current
        return None if place is None else self.steps[place]

    @property
    def plan(self) -> JourneyPlan:
        return msgspec.json.decode(bytes(self.row.plan), type=JourneyPlan)


def _as_state(text: str) -> Any:  # noqa: ANN401 - the column's choices are the states
    return text


def definition(step: JourneyStepRow) -> JourneyStep:
    """The stored definition of the step."""
    return msgspec.convert(step.definition, type=JourneyStep)


def load(journey_id: uuid.UUID, *, lock: bool = False) -> LoadedJourney:
    """The journey with its steps. Raises NotFound. `lock` holds the row until the transaction ends."""
    rows = Journey.objects.select_for_update() if lock else Journey.objects
    row = rows.filter(pk=journey_id).first()
    if row is None:
        raise NotFound("no such journey")
    return LoadedJourney(row, list(JourneyStepRow.objects.filter(journey_id=journey_id).order_by("place")))


def store(
    loaded: LoadedJourney,
    then: JourneyProgress,
    *,
    event: JourneyEvent,
    columns: Mapping[str, Any] | None = None,
    of_step: Mapping[str, Any] | None = None,
) -> None:
    """Stores the progress with the event; `columns` change the journey, `of_step` the step of the event.

    A step that becomes ready or begins gets the current time. Raises Conflict `moved` if the journey changed since it
    was read, or the change is not allowed; `disruption_held` if it would resume while Karpenter's own disruption is
    held; LeaseLost if the worker's token is no longer valid.
    """
    before, now = loaded.progress, timezone.now()
    if then.state != before.state and not can_transition(before.state, then.state):
        raise Conflict(f"a journey that is {before.state} cannot become {then.state}", code="moved")
    if (before.state, then.state) == ("paused", "running"):
        _refuse_held_disruption(loaded.row)
    reached("before_store")
    changed = {"state": then.state, "version": loaded.row.version + 1, "changed_at": now, **(columns or {})}
    with transaction.atomic():
        if event.lease_token is not None:
            lease.check(event.lease_token)
        same = Journey.objects.filter(pk=loaded.row.pk, state=loaded.row.state, version=loaded.row.version)
        if not same.update(**changed):
            raise Conflict("the journey was changed meanwhile", code="moved")
        _store_steps(loaded, then, event=event, of_step=of_step or {}, now=now)
        record(_audit_event(loaded.row, event, now=then.state, before=before.state))
        if event.tells:
            _notify(loaded.row, event)
    for name, value in changed.items():
        setattr(loaded.row, name, value)
    reached("after_store")


def _refuse_held_disruption(row: Journey) -> None:
    """Raises Conflict `disruption_held` while Karpenter's own disruption is held for a pause of the journey."""
    if JourneyHold.objects.filter(journey=row).exists():
        words = "Karpenter's own disruption is held during this pause: restore the budgets first"
        raise Conflict(words, code="disruption_held")


def cause_columns(code: str, words: str = "") -> dict[str, Any]:
    """The columns with the reason why the journey does not continue."""
    return {"cause_code": code, "cause": words[:2000], "wait_code": "", "needs_person": False}


def move(loaded: LoadedJourney, then: JourneyState, *, event: JourneyEvent, **columns: Any) -> None:  # noqa: ANN401 - columns
    """Stores as `store` does, for a change of the journey's own state that leaves its steps alone."""
    store(loaded, msgspec.structs.replace(loaded.progress, state=then), event=event, columns=columns)


def _store_steps(
    loaded: LoadedJourney, then: JourneyProgress, *, event: JourneyEvent, of_step: Mapping[str, Any], now: datetime
) -> None:
    for row, step in zip(loaded.steps, then.steps, strict=True):
        columns: dict[str, Any] = dict(of_step) if event.step and row.step == event.step else {}
        if step.state != row.state:
            anew = UNDONE if step.state in ("waiting", "ready") and row.state not in ("waiting", "failed") else {}
            columns = {"state": step.state, **anew, **_times(step, now), **columns}
        if columns:
            JourneyStepRow.objects.filter(pk=row.pk).update(**columns)
            for name, value in columns.items():
                setattr(row, name, value)


UNDONE: dict[str, Any] = {
    "since": None, "ended_at": None, "by_name": "", "note": "", "cause_code": "", "cause": "", "evidence": {},
    "differences": [], "accepted": False,
}  # fmt: skip
"""Columns of a step that was undone: nothing of its former result remains."""


def _times(step: StepProgress, now: datetime) -> dict[str, Any]:
    if step.state in ("ready", "running", "undoing"):
        return {"since": now, "ended_at": None}
    return {"ended_at": now} if step.state in ("done", "skipped", "failed") else {}


def _audit_event(row: Journey, event: JourneyEvent, *, now: JourneyState, before: JourneyState) -> Event:
    detail = {"from": before, "to": now, **event.detail} | ({"why": event.words} if event.words else {})
    return Event(
        verb=event.verb,
        actor=event.by,
        object=title_of(row),
        outcome=event.code or now,
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        step=event.step,
        correlation=str(row.pk),
        detail=detail,
    )


def title_of(row: Journey) -> str:
    """The title of the journey in the audit log and notifications."""
    way = f"Upgrade {row.starts} to {row.target_release}" if row.target_release else "Upgrade"
    return f"{way} of {row.cluster_name}"


def _notify(row: Journey, event: JourneyEvent) -> None:
    body = {"journey": str(row.pk), "cluster": str(row.cluster_id), "subject": row.cluster_name, "title": title_of(row)}
    Outbox.objects.create(topic=event.tells, body=body | {"code": event.code, "why": event.words[:300]})
