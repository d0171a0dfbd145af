"""The moves that a worker makes for the current step of a journey: each is one transaction with its audit event."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import transaction

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.execution.interface import LeaseLost
from migrations_app.journeys.evidence import StepEvidence
from migrations_app.journeys.next_move import NODES_SKIPPED, Move
from migrations_app.journeys.states import after, after_step
from migrations_app.models.journey import JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.journeys import step_rollouts, transitions
from migrations_app.use_cases.journeys.lifecycle import pause_for_person
from migrations_app.use_cases.journeys.preview import WorkToEnqueue
from migrations_app.use_cases.journeys.scans import ask_for_scan
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, load, store
from migrations_app.use_cases.rollouts.lease import LeaseToken

WORK = JourneyRollout.Purpose.WORK
QUIET: dict[str, Any] = {"wait_code": "", "needs_person": False}
STOPS = frozenset({"kill_switch", "audit_blocked", "starter_gone"})
"""Refusals of a start after which a person resumes the journey."""
PASSING = frozenset({"closed", "busy"})
"""Refusals of a start that pass by themselves: a change window, another rollout."""
PLANNED_ANEW = frozenset({"expired", "policy_moved", "release_changed"})


def make_move(
    loaded: LoadedJourney, current: JourneyStepRow, *, move: Move, proof: Mapping[str, Any], lease_token: LeaseToken
) -> WorkToEnqueue:
    """Makes the move and returns the work to enqueue. `proof` holds the columns with the evidence."""
    match move.do:
        case "begin":
            then = after_step(loaded.progress, "begin", place=current.place)
            event = _event("journey.step_begun", current, lease_token=lease_token)
            store(loaded, then, event=event, columns=QUIET, of_step={"differences": [], "accepted": False})
            return WorkToEnqueue(again=True)
        case "finish":
            then = after_step(loaded.progress, "finish", place=current.place)
            event = _event("journey.step_done", current, lease_token=lease_token, code=move.code, detail=proof)
            store(loaded, then, event=event, columns=QUIET, of_step={**proof, "cause_code": move.code})
            return WorkToEnqueue(again=True)
        case "fail":
            _fail(
                loaded,
                current,
                code=move.code,
                words=_failure_text(current, move),
                lease_token=lease_token,
                proof=proof,
            )
            return WorkToEnqueue()
        case "scan":
            scan_id = ask_for_scan(loaded.row)
            return WorkToEnqueue(scans=[scan_id] if scan_id else [])
        case "watch" | "tell":
            _wait(loaded, current, move=move, lease_token=lease_token, proof=proof)
            return WorkToEnqueue()
        case "draft":
            return _plan(loaded, current, lease_token=lease_token)
        case _:
            return _advance_rollout(loaded, current, move=move, lease_token=lease_token)


def _event(
    verb: str, step: JourneyStepRow, *, lease_token: LeaseToken, code: str = "", words: str = "", tells: str = "",
    detail: Mapping[str, Any] | None = None,
) -> JourneyEvent:  # fmt: skip
    return JourneyEvent(
        verb=verb,
        by=WORKER,
        code=code,
        words=words,
        step=step.step,
        tells=tells,
        lease_token=lease_token,
        detail=detail or {},
    )


def _failure_text(current: JourneyStepRow, move: Move) -> str:
    """The names of the nodes that people skipped, if the step fails because of them, or the reason why no plan could be
    made.
    """
    rollout = step_rollouts.newest_rollout_for(current, purpose=WORK)
    if rollout is None:
        return ""
    if move.code == NODES_SKIPPED:
        return ", ".join(rollout.skips.order_by("step").values_list("node", flat=True))
    return str(rollout.cause) if rollout.state == "expired" and rollout.cause_code == move.code else ""


def _fail(
    loaded: LoadedJourney, current: JourneyStepRow, *, code: str, lease_token: LeaseToken, words: str = "",
    proof: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Fails the step, which pauses the journey, and notifies people."""
    event = _event(
        "journey.step_failed", current, lease_token=lease_token, code=code, words=words, tells="journey.paused"
    )
    then = after_step(loaded.progress, "fail", place=current.place)
    cause = {"cause_code": code, "cause": words[:2000]}
    store(loaded, then, event=event, columns={**QUIET, **cause}, of_step={**(proof or {}), **cause})


def _wait(
    loaded: LoadedJourney, current: JourneyStepRow, *, move: Move, lease_token: LeaseToken, proof: Mapping[str, Any]
) -> None:
    """Stores what the journey waits for; people are notified once when they have to act.

    The evidence that people see is stored again if a newer scan shows something else, so that no person confirms an
    outdated state.
    """
    person = move.do == "tell"
    is_noted = (loaded.row.wait_code, loaded.row.needs_person) == (move.code, person)
    if is_noted and not (person and _is_other_evidence(current, proof)):
        return
    verb = "journey.person_needed" if person else "journey.waiting"
    tells = "journey.needs_person" if person and not is_noted else ""
    event = _event(verb, current, lease_token=lease_token, code=move.code, tells=tells)
    store(loaded, loaded.progress, event=event, columns={"wait_code": move.code, "needs_person": person}, of_step=proof)


def _is_other_evidence(current: JourneyStepRow, proof: Mapping[str, Any]) -> bool:
    if "evidence" not in proof:
        return False
    now = msgspec.convert(proof["evidence"], type=StepEvidence)
    return not current.evidence or msgspec.convert(current.evidence, type=StepEvidence).checks != now.checks


def _plan(loaded: LoadedJourney, current: JourneyStepRow, *, lease_token: LeaseToken) -> WorkToEnqueue:
    """Drafts the rollout of the step; a worker plans it from a fresh read."""
    with transaction.atomic():
        rollout_id = step_rollouts.plan_rollout(loaded.row, current, purpose=WORK)
        event = _event("journey.step_planned", current, lease_token=lease_token, detail={"rollout": str(rollout_id)})
        store(loaded, loaded.progress, event=event, columns={"wait_code": "planning", "needs_person": False})
    transitions.reached("after_draft")
    return WorkToEnqueue(drafts=[rollout_id])


def _advance_rollout(
    loaded: LoadedJourney, current: JourneyStepRow, *, move: Move, lease_token: LeaseToken
) -> WorkToEnqueue:
    """Covers the rollout of the step with the journey's approval, requests its approval or starts it, or pauses the
    journey instead.
    """
    row = step_rollouts.newest_rollout_for(current, purpose=WORK)
    if row is None:
        return WorkToEnqueue()
    try:
        return _make_rollout_move(loaded, current, row=row, move=move, lease_token=lease_token)
    except LeaseLost:
        raise
    except PermissionDenied as refused:
        code, words = "right_missing", refused.message
    except InvalidInput as wrong:
        code, words = wrong.code, str(wrong)
    except Conflict as refused:
        code, words = refused.code, refused.message
    # Read again: what was stored before the refusal was rolled back.
    again = load(loaded.row.pk)
    return _handle_refusal(again, again.steps[current.place], row=row, code=code, words=words, lease_token=lease_token)


def _make_rollout_move(
    loaded: LoadedJourney, current: JourneyStepRow, *, row: Rollout, move: Move, lease_token: LeaseToken
) -> WorkToEnqueue:
    detail = {"rollout": str(row.pk), "digest": row.digest}
    if move.do == "stop" or (move.do == "ask" and move.code != "accepted" and step_rollouts.needs_no_approver(row)):
        _pause_before_plan(loaded, current, row=row, lease_token=lease_token)
        return WorkToEnqueue()
    with transaction.atomic():
        if move.do == "start":
            event = _event("journey.step_started", current, lease_token=lease_token, detail=detail)
            store(loaded, loaded.progress, event=event, columns={"wait_code": "rollout", "needs_person": False})
            step_rollouts.start(loaded.row, row)
        elif move.do == "cover":
            event = _event("journey.step_covered", current, lease_token=lease_token, detail=detail)
            store(loaded, loaded.progress, event=event, columns=QUIET)
            step_rollouts.cover(loaded.row, row, step=current)
        else:
            event = _event("journey.step_asked", current, lease_token=lease_token, code=move.code, detail=detail)
            store(loaded, loaded.progress, event=event, columns=QUIET)
            step_rollouts.request_rollout_approval(loaded.row, row)
    transitions.reached(f"after_{move.do}")
    return WorkToEnqueue(rollouts=[row.pk]) if move.do == "start" else WorkToEnqueue(again=True)


def _pause_before_plan(
    loaded: LoadedJourney, current: JourneyStepRow, *, row: Rollout, lease_token: LeaseToken
) -> None:
    """Pauses the journey because the plan was not previewed, or differs from the previewed one."""
    differences = step_rollouts.differences_from_preview(loaded.plan, row, step_id=current.step) or ()
    code = "plan_differs" if differences else "plan_not_shown"
    plain = msgspec.to_builtins(differences)
    event = _event(
        "journey.paused",
        current,
        lease_token=lease_token,
        code=code,
        tells="journey.paused",
        detail={"differences": plain},
    )
    columns = {**QUIET, "cause_code": code, "cause": ""}
    store(loaded, after(loaded.progress, "pause"), event=event, columns=columns, of_step={"differences": plain})


def _handle_refusal(
    loaded: LoadedJourney, current: JourneyStepRow, *, row: Rollout, code: str, words: str, lease_token: LeaseToken
) -> WorkToEnqueue:
    """Handles a rollout that may not be started or approved now, by the code of the refusal."""
    if code in PLANNED_ANEW:
        step_rollouts.withdraw(row, code)
        return WorkToEnqueue(again=True)
    if code in STOPS:
        pause_for_person(loaded, code, words=words, lease_token=lease_token)
    elif code == "rehearsal_missing":
        _wait(loaded, current, move=Move("tell", code), lease_token=lease_token, proof={})
    elif code in PASSING:
        _wait(loaded, current, move=Move("watch", code), lease_token=lease_token, proof={})
    elif code != "moved":
        _fail(loaded, current, code=code, words=words, lease_token=lease_token)
    return WorkToEnqueue()
