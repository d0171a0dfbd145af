"""What people do with the current step: confirm it, accept its plan, retry it, skip it."""

import uuid
from typing import Any

from django.db import transaction

from migrations_app.access import Person, may_resolve, may_start
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.journeys.states import after, after_step
from migrations_app.models.journey import Journey, JourneyRollout, JourneyStepRow
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.approvals import refuse_stale_journey
from migrations_app.use_cases.journeys.lifecycle import (
    NEEDS_ACCEPTANCE,
    active_rollout,
    starter_columns,
    withdraw_planned,
)
from migrations_app.use_cases.journeys.step_rollback import confirm_undone
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, load, store

CONFIRMABLE = ("tick_needed", "confirmation_needed")
"""Wait codes with which a person's confirmation finishes the step. None of them is used while a check of the step
fails.
"""
GOES_ON: dict[str, Any] = {"cause_code": "", "cause": "", "wait_code": "", "needs_person": False}


def confirm_step(
    journey_id: uuid.UUID, person: Person, *, step: str, note: str, by: Actor, version: int | None = None
) -> Journey:
    """Confirms with a note that the step is done, if only a person does it or no scan can see it.

    During a rollback of the journey it confirms that the step was undone. Raises PermissionDenied for a token,
    InvalidInput without a note, Conflict if the step waits for something else.
    """
    _refuse_empty(note)
    with transaction.atomic():
        loaded, row = _locked_step(journey_id, person, step=step, version=version, by_person=True)
        if row.state == "undoing":
            confirm_undone(loaded, row, note=note, by=by)
            return loaded.row
        if loaded.row.wait_code not in CONFIRMABLE or row.state != "running":
            raise Conflict("this step does not wait for a person's confirmation", code="moved")
        then = after_step(loaded.progress, "finish", place=row.place)
        event = JourneyEvent(verb="journey.step_ticked", by=by, code="ticked", words=note, step=step)
        store(loaded, then, event=event, columns=GOES_ON, of_step=_person_columns(person, note))
    return loaded.row


def skip(
    journey_id: uuid.UUID, person: Person, *, step: str, reason: str, by: Actor, version: int | None = None
) -> Journey:
    """Skips a step with a reason; its planned rollout is withdrawn.

    Raises PermissionDenied, InvalidInput without a reason, and Conflict: `protects` for a step that is never skipped,
    `rollout_holds` while a rollout of the step is under way.
    """
    _refuse_empty(reason)
    with transaction.atomic():
        loaded, row = _locked_step(journey_id, person, step=step, version=version)
        current = loaded.current
        then = after_step(loaded.progress, "skip", place=row.place)
        if current is not None and current.pk == row.pk:
            rollout = active_rollout(loaded)
            if rollout is not None:
                raise Conflict(
                    f"rollout {rollout.pk} of this step is in progress: abort it first", code="rollout_holds"
                )
            withdraw_planned(loaded, "step_skipped")
        event = JourneyEvent(verb="journey.step_skipped", by=by, code="skipped", words=reason, step=step)
        store(
            loaded,
            then,
            event=event,
            columns={"wait_code": "", "needs_person": False},
            of_step=_person_columns(person, reason),
        )
    return loaded.row


def retry(journey_id: uuid.UUID, person: Person, *, step: str, by: Actor, version: int | None = None) -> Journey:
    """Repeats a failed step, or plans a step again whose plan was not accepted; the journey resumes.

    Raises PermissionDenied, and Conflict: `rollout_holds` while a rollout of the step is under way.
    """
    with transaction.atomic():
        loaded, row = _locked_step(journey_id, person, step=step, version=version)
        rollout = active_rollout(loaded)
        if rollout is not None:
            raise Conflict(f"rollout {rollout.pk} of this step is in progress: abort it first", code="rollout_holds")
        withdraw_planned(loaded, "step_retried")
        event = JourneyEvent(verb="journey.step_retried", by=by, code="retried", step=step)
        anew = {"cause_code": "", "cause": "", "differences": [], "accepted": False, "evidence": {}}
        columns = {**GOES_ON, **starter_columns(person)}
        if row.state == "failed":
            store(
                loaded,
                after_step(loaded.progress, "retry", place=row.place),
                event=event,
                columns=columns,
                of_step=anew,
            )
        elif loaded.row.cause_code in NEEDS_ACCEPTANCE and row.state in ("running", "undoing"):
            store(loaded, after(loaded.progress, "resume"), event=event, columns=columns, of_step=anew)
        else:
            raise Conflict(f"a step that is {row.state} cannot be retried", code="moved")
    return loaded.row


def accept_plan(
    journey_id: uuid.UUID, person: Person, *, step: str, digest: str, by: Actor, version: int | None = None
) -> Journey:
    """Accepts a plan that was not in the preview or differs from it; the rollout still gets its own approval.

    Raises PermissionDenied, and Conflict: `digest_moved` for another plan than the one that the operator saw.
    """
    with transaction.atomic():
        loaded, row = _locked_step(journey_id, person, step=step, version=version)
        work = JourneyRollout.Purpose.WORK
        undoing = row.state == "undoing"
        rollout = step_rollouts.rollback_for(row) if undoing else step_rollouts.newest_rollout_for(row, purpose=work)
        if loaded.row.cause_code not in NEEDS_ACCEPTANCE or rollout is None or rollout.state != "previewed":
            raise Conflict("no plan waits for acceptance", code="moved")
        if digest != rollout.digest:
            raise Conflict("the plan has changed since it was shown", code="digest_moved")
        event = JourneyEvent(
            verb="journey.plan_accepted", by=by, code="accepted", step=step, detail={"rollout": str(rollout.pk)}
        )  # fmt: skip
        columns = {**GOES_ON, **starter_columns(person)}
        store(loaded, after(loaded.progress, "resume"), event=event, columns=columns, of_step={"accepted": True})
    return loaded.row


def _locked_step(
    journey_id: uuid.UUID, person: Person, *, step: str, version: int | None, by_person: bool = False
) -> tuple[LoadedJourney, JourneyStepRow]:
    """The journey, locked, and the step. Raises PermissionDenied, Conflict, InvalidInput for an unknown step."""
    loaded = load(journey_id, lock=True)
    scoped_person = person_over_cluster(person, loaded.row.cluster_id)
    refuse_person(may_resolve(scoped_person) if by_person else may_start(scoped_person))
    refuse_stale_journey(loaded, version)
    row = next((journey_step_row for journey_step_row in loaded.steps if journey_step_row.step == step), None)
    if row is None:
        raise InvalidInput("the journey has no such step", where="step", code="unknown_step")
    return loaded, row


def _person_columns(person: Person, note: str) -> dict[str, Any]:
    return {"by_name": person.name, "note": note.strip()[:2000], "cause_code": "", "cause": ""}


def _refuse_empty(text: str) -> None:
    if not text.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
