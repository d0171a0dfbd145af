"""Starts, pauses, resumes, aborts and resolves rollouts, and expires their plans.

A plan expires with time, or when the cluster's endpoint or credentials change (A05).
"""

import uuid
from typing import Any, Literal

import msgspec
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.access import Person, may_resolve, may_start, may_stop
from migrations_app.actions.plan import Plan
from migrations_app.actions.states import HOLDING, PLANNED, about_one_node
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.models.rollout import Attempt, NodeSkip, Rollout
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor, Event, record
from migrations_app.use_cases.rollouts.start_checks import (
    refuse_expired,
    refuse_held_by_journey,
    refuse_held_elsewhere,
    refuse_moved,
    refuse_other_release,
    refuse_parallel_rollout,
    refuse_start,
)
from migrations_app.use_cases.rollouts.transitions import TransitionCause, locked_rollout, require_rollout, transition

ManualOutcome = Literal["paused", "failed", "aborted"]
MANUAL_OUTCOMES: dict[str, ManualOutcome] = {"paused": "paused", "failed": "failed", "aborted": "aborted"}


def start(rollout_id: uuid.UUID, person: Person, *, digest: str, by: Actor, version: int | None = None) -> Rollout:
    """Starts an approved rollout. The digest and the approvers' current rights are checked under the row's lock (A41).

    Raises PermissionDenied, Conflict: `digest_moved`, `approval_missing`, `closed`, `kill_switch`, `busy`, `expired`,
    `rehearsal_missing`, `release_changed`, `moved`.
    """
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_start(person_over_cluster(person, row.cluster_id)))
        if digest != row.digest:
            raise Conflict("the plan has changed since it was shown", code="digest_moved")
        refuse_moved(row, version)
        if row.state != "approved":
            raise Conflict(f"a plan that is {row.state.replace('_', ' ')} cannot be started", code="moved")
        refuse_expired(row)
        refuse_other_release(row)
        refuse_start(row, person)
        _begin_rolling_back(row, by=by)
        began = {"started_by_name": person.name, "started_at": timezone.now(), "stop_request": ""}
        _set_running(row, by=by, columns=began)
    return row


def _begin_rolling_back(row: Rollout, *, by: Actor) -> None:
    """Moves a rollout that is to be rolled back to `rolling_back`, which frees the cluster, unless it had succeeded."""
    if row.rolls_back_id is None:
        return
    original = locked_rollout(row.rolls_back_id)
    if original.state != "succeeded":
        transition(original, "rolling_back", by=by, cause=TransitionCause(code="roll_back"))


def pause(rollout_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> None:
    """Requests that the worker pauses after the current request (A10). Raises PermissionDenied, Conflict."""
    request_stop(rollout_id, person, stop_request=Rollout.StopRequest.PAUSE, by=by, version=version)


def resume(rollout_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> Rollout:
    """Resumes a paused rollout, with all checks of a start (A10). Raises PermissionDenied, Conflict."""
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_start(person_over_cluster(person, row.cluster_id)))
        refuse_moved(row, version)
        if row.state != "paused":
            raise Conflict(f"a rollout that is {row.state.replace('_', ' ')} cannot be resumed", code="moved")
        refuse_start(row, person)
        # From here on it runs with the rights of the person who resumed it.
        columns = {"stop_request": "", "gate_since": None, "unknown_since": None, "started_by_name": person.name}
        _set_running(row, by=by, columns=columns)
    return row


def abort(rollout_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> None:
    """Aborts a rollout: at once if it is not running, else after the current request is settled (A10).

    Raises PermissionDenied, Conflict.
    """
    if require_rollout(rollout_id).state == "running":
        request_stop(rollout_id, person, stop_request=Rollout.StopRequest.ABORT, by=by, version=version)
        return
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_stop(person_over_cluster(person, row.cluster_id)))
        refuse_moved(row, version)
        if row.state == "needs_attention":
            raise Conflict("a person has to settle the outcome", code="moved")
        transition(row, "aborted", by=by, cause=TransitionCause(code="asked"), finished_at=timezone.now())
        _update_original(row)


def resolve_by_person(
    rollout_id: uuid.UUID, person: Person, *, then: str, reason: str, by: Actor, version: int | None = None
) -> Rollout:
    """Resolves a rollout that needs attention (A09) by a person, as choose paused, failed or aborted, with a reason.

    Raises PermissionDenied, InvalidInput, Conflict.
    """
    refuse_person(may_resolve(person_over_cluster(person, require_rollout(rollout_id).cluster_id)))
    if not reason.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
    if then not in MANUAL_OUTCOMES:
        raise InvalidInput("choose paused, failed or aborted", where="then", code="bad_state")
    ended: dict[str, Any] = {} if then == "paused" else {"finished_at": timezone.now()}
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_moved(row, version)
        if row.state != "needs_attention":
            raise Conflict(f"a rollout that is {row.state.replace('_', ' ')} cannot be settled", code="moved")
        transition(row, MANUAL_OUTCOMES[then], by=by, cause=TransitionCause(code="settled", words=reason), **ended)
        if then != "paused":
            _update_original(row)
    return row


SENT = (Attempt.Outcome.OPEN, Attempt.Outcome.UNKNOWN, Attempt.Outcome.APPLIED, Attempt.Outcome.NOOP)
"""Outcomes after which the node is or may be deleted: it cannot be skipped any more."""


def skip_node(
    rollout_id: uuid.UUID, person: Person, *, step: str, reason: str, by: Actor, version: int | None = None
) -> None:
    """Skips the node of a step that was not sent yet: the node stays, and is counted and named as skipped.

    Raises PermissionDenied, InvalidInput without a reason or for a step that is not about one node, and Conflict:
    `node_sent` once its deletion was sent, `moved` if the rollout is not under way or the node is skipped already.
    """
    if not reason.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_start(person_over_cluster(person, row.cluster_id)))
        refuse_moved(row, version)
        if row.state not in ("running", "paused"):
            words = f"nodes of a rollout that is {row.state.replace('_', ' ')} cannot be skipped"
            raise Conflict(words, code="moved")
        node = _node_of(row, step)
        if NodeSkip.objects.filter(rollout=row, step=step).exists():
            raise Conflict(f"{node} is skipped already", code="moved")
        # A worker that records its intent locks this row, too: either the skip or the intent comes first.
        if Attempt.objects.filter(rollout=row, step=step, outcome__in=SENT).exists():
            raise Conflict(f"the deletion of {node} was sent already", code="node_sent")
        columns = {"by_id": person.id, "by_name": person.name, "reason": reason.strip()[:2000], "at": timezone.now()}
        NodeSkip.objects.create(rollout=row, step=step, node=node, **columns)
        record(
            Event(
                verb="rollout.node_skipped",
                actor=by,
                object=f"Node {node}",
                outcome="skipped",
                cluster_id=str(row.cluster_id),
                plan_digest=row.digest,
                step=step,
                correlation=str(row.pk),
                detail={"why": reason.strip()[:2000]},
            )
        )


def _node_of(row: Rollout, step_id: str) -> str:
    plan = msgspec.json.decode(bytes(row.plan), type=Plan)
    step = next((step for step in plan.steps if step.id == step_id), None)
    if step is None or step.change is None or not about_one_node(step):
        raise InvalidInput("this step is not about one node", where="step", code="unknown_step")
    return step.change.target.name


def _update_original(row: Rollout) -> None:
    """After a failed or aborted rollback, moves the original rollout to `needs_attention`."""
    original = row.rolls_back
    if original is not None and original.state == "rolling_back":
        transition(original, "needs_attention", by=WORKER, cause=TransitionCause(code=f"rollback_{row.state}"))


def request_stop(rollout_id: uuid.UUID, person: Person, *, stop_request: str, by: Actor, version: int | None) -> None:
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_stop(person_over_cluster(person, row.cluster_id)))
        # Stopping is safe, so it is refused only when there is nothing to stop.
        if row.state != "running" and version is not None:
            refuse_moved(row, version)
        if not _request_stop(row, stop_request, by=by):
            raise Conflict(
                f"a rollout that is {row.state.replace('_', ' ')} cannot be asked to {stop_request}", code="moved"
            )


def request_pause(rollout_id: uuid.UUID, *, by: Actor) -> bool:
    """Requests a pause as `pause` does, for a caller that has checked the rights. False if the rollout no longer runs
    or is to be aborted.
    """
    with transaction.atomic():
        return _request_stop(locked_rollout(rollout_id), Rollout.StopRequest.PAUSE, by=by)


def _request_stop(row: Rollout, stop_request: str, *, by: Actor) -> bool:
    # A request to abort is never replaced by one to pause.
    open_request = Rollout.objects.filter(pk=row.pk, state="running").exclude(stop_request=Rollout.StopRequest.ABORT)
    if not open_request.update(stop_request=stop_request):
        return False
    record(_event(row, by, verb=f"rollout.{stop_request}_asked"))
    return True


def _set_running(row: Rollout, *, by: Actor, columns: dict[str, Any]) -> None:
    try:
        with transaction.atomic():
            transition(row, "running", by=by, **columns)
            # By the database's clock, as the intents that are compared with it (R18).
            Rollout.objects.filter(pk=row.pk).update(changed_at=Now())
            row.refresh_from_db(fields=["changed_at"])
            # The audit event locks the head of the log: of two concurrent starts the second one finds the first.
            refuse_parallel_rollout(row)
            refuse_held_elsewhere(row)
            refuse_held_by_journey(row)
    except IntegrityError:
        other = Rollout.objects.filter(cluster_id=row.cluster_id, state__in=sorted(HOLDING), beside=row.beside)
        holder = other.exclude(pk=row.pk).first()
        raise Conflict(f"rollout {holder.pk if holder else ''} holds this cluster", code="busy") from None


def _event(row: Rollout, by: Actor, *, verb: str) -> Event:
    return Event(
        verb=verb,
        actor=by,
        object=f"{row.title} on {row.cluster_name}",
        outcome="asked",
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        correlation=str(row.pk),
    )


MAX_EXPIRED_PER_SWEEP = 200


def expire_old_plans() -> int:
    """Expires plans past their time and returns how many. A plan that changed meanwhile is left alone."""
    old = Rollout.objects.filter(state__in=sorted(PLANNED), expires_at__lte=timezone.now()).order_by("expires_at")
    words = "the plan expired before it was started; make a new preview"
    return sum(_expire(row, TransitionCause(code="expired", words=words)) for row in old[:MAX_EXPIRED_PER_SWEEP])


def void_plans(cluster_id: uuid.UUID) -> None:
    """Expires the plans of a cluster whose endpoint or credentials changed, and pauses its running rollout (A05)."""
    words = "the connection to the cluster was changed since the plan was made"
    for row in Rollout.objects.filter(cluster_id=cluster_id, state__in=sorted(PLANNED)):
        _expire(row, TransitionCause(code="cluster_changed", words=words))
    with transaction.atomic():
        running = Rollout.objects.filter(cluster_id=cluster_id, state="running", stop_request=Rollout.StopRequest.NONE)
        for row in running:
            if Rollout.objects.filter(pk=row.pk, state="running", stop_request=Rollout.StopRequest.NONE).update(
                stop_request=Rollout.StopRequest.PAUSE
            ):
                record(_pause_event(row, words))


def refuse_held(cluster_id: uuid.UUID) -> None:
    """Raises Conflict `rollout_holds` while a rollout is under way or being rolled back on the cluster."""
    busy = Rollout.objects.filter(cluster_id=cluster_id, state__in=[*sorted(HOLDING), "rolling_back"]).first()
    if busy is not None:
        raise Conflict(f"rollout {busy.pk} is {busy.state.replace('_', ' ')} on this cluster", code="rollout_holds")


def _expire(row: Rollout, cause: TransitionCause) -> bool:
    try:
        transition(row, "expired", by=WORKER, cause=cause, finished_at=timezone.now())
    except Conflict:
        return False
    return True


def _pause_event(row: Rollout, words: str) -> Event:
    return Event(
        verb="rollout.pause_asked",
        actor=WORKER,
        object=f"{row.title} on {row.cluster_name}",
        outcome="cluster_changed",
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        correlation=str(row.pk),
        detail={"why": words},
    )
