"""Rolls a journey back to a step that a person chose: the steps after it are undone, the last one first.

Each rollout is undone by a rollout of its own, with its own preview, approval and protection. The journey holds the
cluster meanwhile.
"""

import uuid
from dataclasses import replace
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_start
from migrations_app.actions.plan import Plan
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.execution.interface import LeaseLost
from migrations_app.journeys.evidence import step_evidence
from migrations_app.journeys.next_move import Move, MoveKind, RolloutFacts
from migrations_app.journeys.rollback import NO_RETURN, UNDO_NEEDED, RollbackFacts, RollbackMove, next_rollback_move
from migrations_app.journeys.states import JourneyProgress, StepState, UndoEvent, after, after_undo, start_rollback
from migrations_app.models.journey import Journey, JourneyRollback, JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Rollout
from migrations_app.queries.journeys.rollback import changed_places, doubtful_places, rollout_to_undo
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.journeys import step_rollouts, transitions
from migrations_app.use_cases.journeys.approvals import refuse_stale_journey
from migrations_app.use_cases.journeys.lifecycle import (
    active_rollout,
    pause_for_person,
    starter_columns,
    withdraw_planned,
)
from migrations_app.use_cases.journeys.preview import WorkToEnqueue
from migrations_app.use_cases.journeys.scans import ask_for_scan, report_since
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, definition, load, store
from migrations_app.use_cases.rollouts.drafts import ROLL_BACK, RolloutRequest, draft
from migrations_app.use_cases.rollouts.lease import LeaseToken
from migrations_app.use_cases.rollouts.start_checks import refuse_changes

UNDO_PURPOSE = JourneyRollout.Purpose.BACK
ENDED_CODE = "taken_back"
QUIET: dict[str, Any] = {"wait_code": "", "needs_person": False}
PLANNED_ANEW = frozenset({"expired", "policy_moved", "release_changed"})
PASSING = frozenset({"closed", "busy"})


def begin_rollback(
    journey_id: uuid.UUID, person: Person, *, step: str, reason: str, by: Actor, version: int | None = None
) -> Journey:
    """Begins the rollback to that step.

    The step itself is undone, too, and is the next one when the journey resumes. Raises PermissionDenied, InvalidInput
    without a reason or for an unknown step, and Conflict: `rollout_holds` while a rollout is under way, `not_reached`,
    `kill_switch`, `audit_blocked`, `moved`.
    """
    if not reason.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_start(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        target = next((journey_step_row for journey_step_row in loaded.steps if journey_step_row.step == step), None)
        if target is None:
            raise InvalidInput("the journey has no such step", where="step", code="unknown_step")
        rollout = active_rollout(loaded, lock=True)
        if rollout is not None:
            raise Conflict(f"rollout {rollout.pk} is in progress: abort it first", code="rollout_holds")
        refuse_changes()
        then = start_rollback(loaded.progress, to=target.place, changed=_places_to_undo(journey_id))
        withdraw_planned(loaded, "journey_taken_back")
        event = JourneyEvent(verb="journey.taking_back", by=by, code="asked", words=reason, detail={"to": step})
        columns = {
            **QUIET,
            "cause_code": ENDED_CODE if then.state == "paused" else "",
            "cause": "",
            **starter_columns(person),
        }
        begun = {"to": step, "by_name": person.name, "reason": reason.strip()[:2000], "begun_at": timezone.now()}
        begun["earlier"] = step_rollouts.newest_link(loaded.row)
        _store(loaded, then, event=event, columns=columns, begun=begun)
    return loaded.row


def _places_to_undo(journey_id: uuid.UUID) -> frozenset[int]:
    """The places of the steps whose rollouts changed the cluster, or may have."""
    return changed_places(journey_id) | doubtful_places(journey_id)


def confirm_undone(loaded: LoadedJourney, row: JourneyStepRow, *, note: str, by: Actor) -> None:
    """Records that a person undid the step by hand. Raises Conflict unless the journey waits for exactly that."""
    if loaded.row.wait_code != UNDO_NEEDED:
        raise Conflict("this step does not wait for a person's confirmation", code="moved")
    event = JourneyEvent(verb="journey.step_taken_back", by=by, code="ticked", words=note, step=row.step)
    _conclude(loaded, outcome="undone", event=event)


def advance_undo(loaded: LoadedJourney, current: JourneyStepRow, *, lease_token: LeaseToken) -> WorkToEnqueue:
    """Makes one move for the step that is being undone."""
    rollback = step_rollouts.rollback_for(current)
    move = next_rollback_move(
        definition(current), _undo_state(loaded, current, rollback=rollback), before=_before(loaded), now=timezone.now()
    )
    match move.do:
        case "undone" | "keep" | "fail":
            return _store_outcome(loaded, current, move=move, rollback=rollback, lease_token=lease_token)
        case "draft":
            return _plan(loaded, current, lease_token=lease_token)
        case "scan":
            scan_id = ask_for_scan(loaded.row)
            return WorkToEnqueue(scans=[scan_id] if scan_id else [])
        case "ask" | "start" if rollback is not None:
            return _advance_rollback(loaded, current, rollback=rollback, move=move, lease_token=lease_token)
        case _:
            _wait(
                loaded, current, move=Move("tell" if move.do == "tell" else "watch", move.code), lease_token=lease_token
            )
            return WorkToEnqueue()


def _journey_rollback(loaded: LoadedJourney) -> JourneyRollback:
    """The rollback that the journey is in. Raises Conflict `moved` if it is in none."""
    row = JourneyRollback.objects.filter(journey_id=loaded.row.pk).first()
    if row is None:
        raise Conflict("the journey is not being rolled back", code="moved")
    return row


def _before(loaded: LoadedJourney) -> StepState:
    state: Any = _journey_rollback(loaded).before
    return state  # type: ignore[no-any-return]  # one of the states, as it was stored


def _undo_state(loaded: LoadedJourney, current: JourneyStepRow, *, rollback: Rollout | None) -> RollbackFacts:
    since, row = current.since or loaded.row.changed_at, loaded.row
    left = rollout_to_undo(current)
    current_rollback = (
        rollback if rollback is not None and left is not None and rollback.rolls_back_id == left.pk else None
    )
    rollout_seen = None
    if current_rollback is not None:
        rollout_seen = RolloutFacts(
            state=current_rollback.state, cause_code=current_rollback.cause_code, accepted=current.accepted
        )
    newest = report_since(row.cluster_id, since) if current.kind == "outside" else None
    evidence = step_evidence(definition(current), newest[1], hop=row.hop, starts=row.starts) if newest else None
    return RollbackFacts(
        left=left is not None,
        in_doubt=current.place in doubtful_places(row.pk),
        rollback=rollout_seen,
        starts=row.starts,
        evidence=evidence,
        asked_at=row.asked_at,
        since=since,
    )


def _store_outcome(
    loaded: LoadedJourney,
    current: JourneyStepRow,
    *,
    move: RollbackMove,
    rollback: Rollout | None,
    lease_token: LeaseToken,
) -> WorkToEnqueue:
    """Stores the outcome of the step: undone, left as it is because it cannot be undone, or failed."""
    outcome: Any = move.do
    words = ""
    if move.code == NO_RETURN:
        words = "; ".join(definition(current).no_return)
    elif rollback is not None:
        words = _not_undone_text(rollback) if outcome == "undone" else rollback.cause
    verb = {"undone": "step_taken_back", "keep": "step_has_no_return", "fail": "step_failed"}[move.do]
    event = JourneyEvent(
        verb=f"journey.{verb}", by=WORKER, code=move.code, words=words, step=current.step, lease_token=lease_token
    )  # fmt: skip
    _conclude(loaded, outcome=outcome, event=event)
    return WorkToEnqueue(again=loaded.row.state == "running")


def _not_undone_text(rollback: Rollout) -> str:
    """What the rollback did not undo, as text for the page; it never counts as undone."""
    plan = msgspec.json.decode(bytes(rollback.plan), type=Plan) if rollback.plan else None
    return "; ".join(plan.forecast.cannot_be_undone) if plan else ""


def _conclude(loaded: LoadedJourney, *, outcome: UndoEvent, event: JourneyEvent) -> None:
    to = next(step for step in loaded.steps if step.step == _journey_rollback(loaded).to)
    changed = _places_to_undo(loaded.row.pk)
    then = after_undo(loaded.progress, outcome, to=to.place, before=_before(loaded), changed=changed)
    over = then.state == "paused"
    cause = {"cause_code": ENDED_CODE if outcome == "undone" else event.code, "cause": event.words[:2000]}
    columns = {**QUIET, **(cause if over else {})}
    if over:
        event = replace(event, tells="journey.paused")
    _store(loaded, then, event=event, columns=columns, of_step=cause if outcome == "fail" else {})


def _store(
    loaded: LoadedJourney, then: JourneyProgress, *, event: JourneyEvent, columns: dict[str, Any],
    of_step: dict[str, Any] | None = None, begun: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Stores as `store` does, together with the row of the rollback: `begun` are its columns when it begins; it is
    deleted when the journey pauses.
    """
    place = then.current
    came = loaded.steps[place].state if place is not None else ""
    with transaction.atomic():
        store(loaded, then, event=event, columns=columns, of_step=of_step)
        if then.state == "paused":
            JourneyRollback.objects.filter(journey_id=loaded.row.pk).delete()
            return
        columns_of_rollback = {**(begun or {}), **({"before": came} if came != "undoing" else {})}
        JourneyRollback.objects.update_or_create(journey_id=loaded.row.pk, defaults=columns_of_rollback)


def _plan(loaded: LoadedJourney, current: JourneyStepRow, *, lease_token: LeaseToken) -> WorkToEnqueue:
    """Drafts the rollout that undoes the step's newest rollout; its author is the person who requested the rollback."""
    target = rollout_to_undo(current)
    if target is None:
        return WorkToEnqueue(again=True)
    row = loaded.row
    author = Actor(name=row.started_by_name, method="worker", id=row.starter_id)
    note = f"rolls back step {current.step} of journey {row.pk}"
    request = RolloutRequest(action=ROLL_BACK, rolls_back=target.pk, ticket=row.ticket, note=note)
    with transaction.atomic():
        event = _event("journey.step_planned", current, lease_token=lease_token)
        store(loaded, loaded.progress, event=event, columns={"wait_code": "planning", "needs_person": False})
        rollout_id = draft(row.cluster_id, request, by=author)
        JourneyRollout.objects.create(step=current, rollout_id=rollout_id, purpose=UNDO_PURPOSE)
        JourneyStepRow.objects.filter(pk=current.pk).update(accepted=False)
    transitions.reached("after_back")
    return WorkToEnqueue(drafts=[rollout_id])


def _advance_rollback(
    loaded: LoadedJourney, current: JourneyStepRow, *, rollback: Rollout, move: RollbackMove, lease_token: LeaseToken
) -> WorkToEnqueue:
    """Requests approval of the rollback or starts it. If the policy needs no approver, an operator has to accept it."""
    detail = {"rollout": str(rollback.pk), "digest": rollback.digest}
    try:
        if move.do == "ask" and move.code != "accepted" and step_rollouts.needs_no_approver(rollback):
            event = _event(
                "journey.paused", current, lease_token=lease_token, code="plan_not_shown", tells="journey.paused"
            )
            columns = {**QUIET, "cause_code": "plan_not_shown", "cause": ""}
            store(loaded, after(loaded.progress, "pause"), event=event, columns=columns)
            return WorkToEnqueue()
        with transaction.atomic():
            started = move.do == "start"
            verb = "journey.step_started" if started else "journey.step_asked"
            event = _event(verb, current, lease_token=lease_token, code=move.code, detail=detail)
            waits = {"wait_code": "rollout", "needs_person": False} if started else QUIET
            store(loaded, loaded.progress, event=event, columns=waits)
            (step_rollouts.start if started else step_rollouts.request_rollout_approval)(loaded.row, rollback)
    except LeaseLost:
        raise
    except PermissionDenied as refused:
        return _handle_refusal(
            loaded, current, rollback=rollback, code="right_missing", words=refused.message, lease_token=lease_token
        )
    except (InvalidInput, Conflict) as refused:
        return _handle_refusal(
            loaded, current, rollback=rollback, code=refused.code, words=refused.message, lease_token=lease_token
        )
    transitions.reached(f"after_{move.do}")
    return WorkToEnqueue(rollouts=[rollback.pk]) if started else WorkToEnqueue(again=True)


def _handle_refusal(
    loaded: LoadedJourney, current: JourneyStepRow, *, rollback: Rollout, code: str, words: str, lease_token: LeaseToken
) -> WorkToEnqueue:
    """Handles a rollback that may not be requested or started now, by the code of the refusal."""
    # Read again: what was stored before the refusal was rolled back.
    again = load(loaded.row.pk)
    if code in PLANNED_ANEW:
        step_rollouts.withdraw(rollback, code)
        return WorkToEnqueue(again=True)
    if code in PASSING or code == "rehearsal_missing":
        do: MoveKind = "tell" if code == "rehearsal_missing" else "watch"
        _wait(again, again.steps[current.place], move=Move(do, code), lease_token=lease_token)
    elif code != "moved":
        pause_for_person(again, code, words=words, lease_token=lease_token)
    return WorkToEnqueue()


def _wait(loaded: LoadedJourney, current: JourneyStepRow, *, move: Move, lease_token: LeaseToken) -> None:
    """Stores what the rollback waits for; people are notified once when they have to act."""
    person = move.do == "tell"
    if (loaded.row.wait_code, loaded.row.needs_person) == (move.code, person):
        return
    tells = "journey.needs_person" if person else ""
    verb = "journey.person_needed" if person else "journey.waiting"
    event = _event(verb, current, lease_token=lease_token, code=move.code, tells=tells)
    store(loaded, loaded.progress, event=event, columns={"wait_code": move.code, "needs_person": person})


def _event(
    verb: str, step: JourneyStepRow, *, lease_token: LeaseToken, code: str = "", tells: str = "",
    detail: dict[str, Any] | None = None,
) -> JourneyEvent:  # fmt: skip
    return JourneyEvent(
        verb=verb, by=WORKER, code=code, step=step.step, tells=tells, lease_token=lease_token, detail=detail or {}
    )
