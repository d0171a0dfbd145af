"""Starts, pauses, resumes and aborts journeys, and expires those that were not started in time.

A journey holds its cluster from start to end: other rollouts and journeys of the cluster wait until then.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.access import Person, may_start, may_stop
from migrations_app.actions import states
from migrations_app.errors import Conflict
from migrations_app.journeys.deliveries import StepDone, paused_by_steps
from migrations_app.journeys.plan import COMPOSER_VERSION
from migrations_app.journeys.states import HOLDING, PLANNED, after
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout
from migrations_app.models.rollout import Rollout
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.journeys.cluster_holder import holding_journey
from migrations_app.queries.journeys.journeys import approvals_needed
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.approvals import refuse_expired, refuse_stale_journey
from migrations_app.use_cases.journeys.holds import begin_hold, held_by_step, request_release, stop_resuming
from migrations_app.use_cases.journeys.step_rollouts import valid_approvals
from migrations_app.use_cases.journeys.transitions import (
    JourneyEvent,
    LoadedJourney,
    cause_columns,
    definition,
    load,
    move,
    store,
)
from migrations_app.use_cases.rollouts import lifecycle as rollouts
from migrations_app.use_cases.rollouts.lease import LeaseToken
from migrations_app.use_cases.rollouts.start_checks import refuse_changes, refuse_start

ROLLOUT_HOLDS = ("running", "paused", "needs_attention", "rolling_back")


def start_journey(
    journey_id: uuid.UUID, person: Person, *, digest: str, by: Actor, version: int | None = None
) -> Journey:
    """Starts an approved journey. The digest and the approvers' current rights are checked under the row's lock (A41).

    Raises PermissionDenied, Conflict: `digest_moved`, `approval_missing`, `kill_switch`, `audit_blocked`, `busy`,
    `expired`, `moved`.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        row = loaded.row
        refuse_person(may_start(person_over_cluster(person, row.cluster_id)))
        if digest != row.digest:
            raise Conflict("the journey has changed since it was shown", code="digest_moved")
        refuse_stale_journey(loaded, version)
        then = after(loaded.progress, "start")
        refuse_expired(row)
        if loaded.plan.composer != COMPOSER_VERSION:
            raise Conflict("the journey was made by another release of karpdash; create a new one", code="expired")
        columns = {**starter_columns(person), "started_at": timezone.now()}
        refuse_changes()
        _refuse_unapproved(loaded, person)
        event = JourneyEvent(verb="journey.running", by=by)
        try:
            with transaction.atomic():
                store(loaded, then, event=event, columns=columns)
                # The audit event locks the head of the log: of two concurrent starts the second one finds the first.
                _refuse_held_cluster(row)
        except IntegrityError:
            raise Conflict("another journey holds this cluster", code="busy") from None
    return row


def pause_journey(
    journey_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None, hold_disruption: bool = False
) -> Journey:
    """Pauses the journey, and requests that its rollout pauses after the current request.

    Karpenter continues its own disruption unless `hold_disruption` requests a hold. A paused journey that waits for
    restored budgets to resume stays paused instead. Raises PermissionDenied, Conflict.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_stop(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        if stop_resuming(loaded, by=by):
            return loaded.row
        _pause(loaded, by=by)
        if hold_disruption and not held_by_step(loaded):
            begin_hold(loaded, person, by=by)
    return loaded.row


def pause_if_running(journey_id: uuid.UUID, *, by: Actor) -> bool:
    """Pauses as `pause_journey` does, for a campaign that has checked the rights. False if the journey neither runs nor
    waits to resume.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        if stop_resuming(loaded, by=by):
            return True
        if loaded.row.state != "running":
            return False
        _pause(loaded, by=by)
    return True


def _pause(loaded: LoadedJourney, *, by: Actor) -> None:
    then, rollout = after(loaded.progress, "pause"), active_rollout(loaded, lock=True)
    store(loaded, then, event=JourneyEvent(verb="journey.paused", by=by, code="asked"), columns=cause_columns("asked"))
    if rollout is not None:
        # A rollout that ended or paused meanwhile is left as it is: the journey is paused either way.
        rollouts.request_pause(rollout.pk, by=by)


def resume_journey(
    journey_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None, again: bool = True
) -> Journey:
    """Resumes a paused journey and its paused rollout, with the checks of a start (A10).

    While Karpenter's own disruption is held, the budgets are restored first: the journey stays paused until a worker
    has found them restored, and then resumes by `resume_now`. The restoring does not begin if the rollout could not
    resume. With `again`, a failed attempt to restore is repeated.

    Raises PermissionDenied, and Conflict: `step_failed` for a failed step, `plan_differs` for a plan that was not
    accepted, and the codes of a start.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_start(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        _refuse_resume(loaded)
        rollout = active_rollout(loaded, lock=True)
        if rollout is not None and rollout.state == "paused":
            refuse_start(rollout, person)
        if not request_release(loaded, person, by=by, resumes=True, again=again):
            resume_now(loaded, person, by=by)
    return loaded.row


def resume_now(loaded: LoadedJourney, person: Person, *, by: Actor) -> None:
    """Resumes as `resume_journey` does if nothing is held, in the caller's transaction, which has locked the
    journey.
    """
    refuse_person(may_start(person_over_cluster(person, loaded.row.cluster_id)))
    _refuse_resume(loaded)
    columns, rollout = {**cause_columns(""), **starter_columns(person)}, active_rollout(loaded, lock=True)
    then = after(loaded.progress, "resume")
    store(loaded, then, event=JourneyEvent(verb="journey.running", by=by), columns=columns)
    if rollout is not None and rollout.state == "paused":
        rollouts.resume(rollout.pk, person, by=by)


def _refuse_resume(loaded: LoadedJourney) -> None:
    """Raises Conflict if the journey may not resume, independent of the person."""
    after(loaded.progress, "resume")
    current = loaded.current
    if current is not None and loaded.row.cause_code in NEEDS_ACCEPTANCE and not current.accepted:
        raise Conflict("accept the plan, or plan the step again", code="plan_differs")
    refuse_changes()


NEEDS_ACCEPTANCE = ("plan_differs", "plan_not_shown")
"""Causes of a pause that a person resolves by accepting the plan or by planning the step again."""


def abort_journey(
    journey_id: uuid.UUID, person: Person, *, reason: str, by: Actor, version: int | None = None
) -> Journey:
    """Ends the journey, and aborts its rollout after the current request.

    Budgets that are held for a pause are restored. Raises PermissionDenied, and Conflict while a rollout of the journey
    needs a person's decision first.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_stop(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        then = after(loaded.progress, "abort")
        rollout = active_rollout(loaded, lock=True) or planned_rollout(loaded)
        columns = {**cause_columns("asked", reason), "finished_at": timezone.now()}
        detail = {"paused_deliveries": still_paused(loaded)}
        event = JourneyEvent(verb="journey.aborted", by=by, code="asked", words=reason, detail=detail)
        store(loaded, then, event=event, columns=columns)
        if rollout is not None and rollout.state in ROLLOUT_HOLDS:
            rollouts.abort(rollout.pk, person, by=by)
        elif rollout is not None:
            step_rollouts.withdraw(rollout, "journey_aborted")
        request_release(loaded, person, by=by, resumes=False)
    return loaded.row


def still_paused(loaded: LoadedJourney) -> list[str]:
    """The deliveries that the journey paused, or may have paused, and did not resume (A39)."""
    pairs = [
        (step, step_rollouts.newest_rollout_for(step, purpose=JourneyRollout.Purpose.WORK)) for step in loaded.steps
    ]
    return list(paused_by_steps(StepDone(definition(step), row.state if row else "") for step, row in pairs))


def active_rollout(loaded: LoadedJourney, *, lock: bool = False) -> Rollout | None:
    """The rollout of the journey that holds the cluster; None if there is none.

    `lock` holds its row until the transaction ends. A worker locks the rollout before the head of the audit log: code
    that changes both has to lock the rollout before its first event, or there may be a deadlock.
    """
    rollout = _newest_rollout(loaded, ROLLOUT_HOLDS)
    if rollout is None or not lock:
        return rollout
    return Rollout.objects.select_for_update().filter(pk=rollout.pk).first()


def planned_rollout(loaded: LoadedJourney) -> Rollout | None:
    """The rollout of the journey that is planned and not started; None if there is none."""
    return _newest_rollout(loaded, sorted(states.PLANNED))


def withdraw_planned(loaded: LoadedJourney, code: str) -> None:
    """Expires the planned rollout of the journey, if there is one."""
    rollout = planned_rollout(loaded)
    if rollout is not None:
        step_rollouts.withdraw(rollout, code)


def expire_journeys() -> int:
    """Expires journeys that were not started in time; returns how many. A journey that changed meanwhile is
    left alone.
    """
    old = Journey.objects.filter(state__in=sorted(PLANNED), expires_at__lte=timezone.now()).order_by("expires_at")
    return sum(_expire(pk, code="expired") for pk in old.values_list("pk", flat=True)[:MAX_EXPIRED_PER_SWEEP])


MAX_EXPIRED_PER_SWEEP = 200


def void_journeys(cluster_id: uuid.UUID) -> None:
    """Expires the planned journeys of a cluster whose endpoint or credentials changed, and pauses the running one
    (A05).
    """
    for pk in Journey.objects.filter(cluster_id=cluster_id, state__in=sorted(PLANNED)).values_list("pk", flat=True):
        _expire(pk, code="cluster_changed")
    for pk in Journey.objects.filter(cluster_id=cluster_id, state="running").values_list("pk", flat=True):
        pause_for_person(load(pk), "cluster_changed")
    for pk in Journey.objects.filter(cluster_id=cluster_id, hold__resumes=True).values_list("pk", flat=True):
        with transaction.atomic():
            stop_resuming(load(pk, lock=True), by=WORKER, code="cluster_changed")


def pause_for_person(
    loaded: LoadedJourney, code: str, *, words: str = "", lease_token: LeaseToken | None = None
) -> None:
    """Pauses a running journey because a person has to decide, and notifies people."""
    event = JourneyEvent(
        verb="journey.paused", by=WORKER, code=code, words=words, tells="journey.paused", lease_token=lease_token
    )  # fmt: skip
    store(loaded, after(loaded.progress, "pause"), event=event, columns=cause_columns(code, words))


def refuse_journey(cluster_id: uuid.UUID) -> None:
    """Raises Conflict `journey_holds` while a journey holds the cluster."""
    holder = holding_journey(cluster_id)
    if holder is not None:
        raise Conflict(f"journey {holder.pk} is {holder.state} on this cluster", code="journey_holds")


def _expire(journey_id: uuid.UUID, *, code: str) -> bool:
    try:
        loaded = load(journey_id)
        columns = {**cause_columns(code), "finished_at": timezone.now()}
        move(loaded, "expired", event=JourneyEvent(verb="journey.expired", by=WORKER, code=code), **columns)
    except Conflict:
        return False
    return True


OF_STEPS = (JourneyRollout.Purpose.WORK, JourneyRollout.Purpose.BACK)
"""Purposes of the rollouts that do or undo the work of steps."""


def _newest_rollout(loaded: LoadedJourney, among: Iterable[str]) -> Rollout | None:
    links = JourneyRollout.objects.filter(step__journey=loaded.row, rollout__state__in=tuple(among))
    part = links.filter(purpose__in=OF_STEPS).select_related("rollout").last()
    return part.rollout if part else None


def starter_columns(person: Person) -> dict[str, Any]:
    """The columns that name the person who starts or resumes a journey or campaign: its rollouts start with the rights
    of that account.
    """
    token = person.method == "token"
    return {"starter_id": person.id, "started_by_name": person.name, "started_by_token": token}


def _refuse_unapproved(loaded: LoadedJourney, person: Person) -> None:
    row, needed = loaded.row, approvals_needed(loaded.row, loaded.plan)
    usable = [
        valid_approval
        for valid_approval in valid_approvals(row)
        if person.method != "token" or valid_approval.approver_id != person.id
    ]
    if len(usable) < needed:
        raise Conflict(f"{len(usable)} of {needed} approvals are valid", code="approval_missing")


def _refuse_held_cluster(row: Journey) -> None:
    """Raises Conflict `busy` if the cluster, in any of its registrations, is held by another journey, by any rollout,
    or by an ended journey that has not restored the budgets of its NodePools yet.
    """
    every = registrations_of(row.cluster_id)
    others = Journey.objects.filter(cluster_id__in=every, state__in=sorted(HOLDING)).exclude(pk=row.pk)
    if others.exists():
        raise Conflict("another journey holds this cluster", code="busy")
    if JourneyHold.objects.filter(journey__cluster_id__in=every).exclude(journey=row).exists():
        raise Conflict(
            "an upgrade that has ended still holds Karpenter's own disruption: restore the budgets first", code="busy"
        )
    rollout = Rollout.objects.filter(cluster_id__in=every, state__in=ROLLOUT_HOLDS).first()
    if rollout is not None:
        raise Conflict(f"rollout {rollout.pk} holds this cluster", code="busy")
