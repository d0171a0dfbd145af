"""What people do with the current step: confirm it, accept its plan, retry it, skip it."""

import uuid
from typing import Any

from django.db import transaction

from migrations_app.access import Person, may_resolve, may_start
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.journeys.states import after, after_step
from migrations_app.models.journey import Journey, JourneyRollout, JourneyStepRow
from migrations_app.use_cases.accounts.rights import over, refuse_person
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.approvals import refuse_old
from migrations_app.use_cases.journeys.lifecycle import ASKS, starter, under_way, withdraw_planned
from migrations_app.use_cases.journeys.taking_back import confirm_undone
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, load, store

CONFIRMABLE = ("tick_needed", "confirmation_needed")
"""Wait codes with which a person's confirmation finishes the step. None of them is used while a check of the step
fails.
"""
GOES_ON: dict[str, Any] = {"cause_code": "", "cause": "", "wait_code": "", "needs_person": False}


def tick(
    journey_id: uuid.UUID, person: Person, *, step: str, note: str, by: Actor, version: int | None = None
) -> Journey:
    """Confirms with a note that the step is done, if only a person does it or no scan can see it.

    During a rollback of the journey it confirms that the step was undone. Raises PermissionDenied for a token,
    InvalidInput without a note, Conflict if the step waits for something else.
    """
    _refuse_silent(note)
    with transaction.atomic():
        here, row = _at(journey_id, person, step=step, version=version, by_person=True)
        if row.state == "undoing":
            confirm_undone(here, row, note=note, by=by)
            return here.row
        if here.row.wait_code not in CONFIRMABLE or row.state != "running":
            raise Conflict("this step does not wait for a person's word", code="moved")
        then = after_step(here.progress, "finish", place=row.place)
        event = JourneyEvent(verb="journey.step_ticked", by=by, code="ticked", words=note, step=step)
        store(here, then, event=event, columns=GOES_ON, of_step=_by(person, note))
    return here.row


def skip(
    journey_id: uuid.UUID, person: Person, *, step: str, reason: str, by: Actor, version: int | None = None
) -> Journey:
    """Skips a step with a reason; its planned rollout is withdrawn.

    Raises PermissionDenied, InvalidInput without a reason, and Conflict: `protects` for a step that is never skipped,
    `rollout_holds` while a rollout of the step is under way.
    """
    _refuse_silent(reason)
    with transaction.atomic():
        here, row = _at(journey_id, person, step=step, version=version)
        current = here.current
        then = after_step(here.progress, "skip", place=row.place)
        if current is not None and current.pk == row.pk:
            rollout = under_way(here)
            if rollout is not None:
                raise Conflict(f"rollout {rollout.pk} of this step is under way: end it first", code="rollout_holds")
            withdraw_planned(here, "step_skipped")
        event = JourneyEvent(verb="journey.step_skipped", by=by, code="skipped", words=reason, step=step)
        store(here, then, event=event, columns={"wait_code": "", "needs_person": False}, of_step=_by(person, reason))
    return here.row


def retry(journey_id: uuid.UUID, person: Person, *, step: str, by: Actor, version: int | None = None) -> Journey:
    """Repeats a failed step, or plans a step again whose plan was not accepted; the journey resumes.

    Raises PermissionDenied, and Conflict: `rollout_holds` while a rollout of the step is under way.
    """
    with transaction.atomic():
        here, row = _at(journey_id, person, step=step, version=version)
        rollout = under_way(here)
        if rollout is not None:
            raise Conflict(f"rollout {rollout.pk} of this step is under way: end it first", code="rollout_holds")
        withdraw_planned(here, "step_retried")
        event = JourneyEvent(verb="journey.step_retried", by=by, code="retried", step=step)
        anew = {"cause_code": "", "cause": "", "differences": [], "accepted": False, "evidence": {}}
        columns = {**GOES_ON, **starter(person)}
        if row.state == "failed":
            store(here, after_step(here.progress, "retry", place=row.place), event=event, columns=columns, of_step=anew)
        elif here.row.cause_code in ASKS and row.state in ("running", "undoing"):
            store(here, after(here.progress, "resume"), event=event, columns=columns, of_step=anew)
        else:
            raise Conflict(f"a step that is {row.state} is not done again", code="moved")
    return here.row


def accept_plan(
    journey_id: uuid.UUID, person: Person, *, step: str, digest: str, by: Actor, version: int | None = None
) -> Journey:
    """Accepts a plan that was not in the preview or differs from it; the rollout still gets its own approval.

    Raises PermissionDenied, and Conflict: `digest_moved` for another plan than the one that the operator saw.
    """
    with transaction.atomic():
        here, row = _at(journey_id, person, step=step, version=version)
        work = JourneyRollout.Purpose.WORK
        undoing = row.state == "undoing"
        rollout = step_rollouts.rollback_for(row) if undoing else step_rollouts.made_for(row, purpose=work)
        if here.row.cause_code not in ASKS or rollout is None or rollout.state != "previewed":
            raise Conflict("no plan waits to be accepted", code="moved")
        if digest != rollout.digest:
            raise Conflict("the plan is not the one that was shown", code="digest_moved")
        event = JourneyEvent(
            verb="journey.plan_accepted", by=by, code="accepted", step=step, detail={"rollout": str(rollout.pk)}
        )  # fmt: skip
        columns = {**GOES_ON, **starter(person)}
        store(here, after(here.progress, "resume"), event=event, columns=columns, of_step={"accepted": True})
    return here.row


def _at(
    journey_id: uuid.UUID, person: Person, *, step: str, version: int | None, by_person: bool = False
) -> tuple[LoadedJourney, JourneyStepRow]:
    """The journey, locked, and the step. Raises PermissionDenied, Conflict, InvalidInput for an unknown step."""
    here = load(journey_id, lock=True)
    scoped_person = over(person, here.row.cluster_id)
    refuse_person(may_resolve(scoped_person) if by_person else may_start(scoped_person))
    refuse_old(here, version)
    row = next((journey_step_row for journey_step_row in here.steps if journey_step_row.step == step), None)
    if row is None:
        raise InvalidInput("the journey has no such step", where="step", code="unknown_step")
    return here, row


def _by(person: Person, note: str) -> dict[str, Any]:
    return {"by_name": person.name, "note": note.strip()[:2000], "cause_code": "", "cause": ""}


def _refuse_silent(text: str) -> None:
    if not text.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
