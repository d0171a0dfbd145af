"""Holds Karpenter's own disruption during a pause of a journey, and restores the budgets before the journey resumes.

Hold and release are each a rollout of their own, with preview, approvals and journal. They may run while the journey
and its rollout are paused, and neither of those resumes until they have ended.
"""

import uuid
from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from migrations_app.access import Method, Person, may_start
from migrations_app.actions.states import HOLDING
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.journeys.disruption_hold import HELD, HOLD, RELEASE, RELEASED, HoldFacts, HoldMove, next_hold_move
from migrations_app.journeys.next_move import RolloutFacts
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout
from migrations_app.models.rollout import Rollout
from migrations_app.queries.journeys.disruption_hold import budgets_restored
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.approvals import refuse_stale_journey
from migrations_app.use_cases.journeys.preview import WorkToEnqueue
from migrations_app.use_cases.journeys.transitions import (
    JourneyEvent,
    LoadedJourney,
    cause_columns,
    definition,
    load,
    store,
)
from migrations_app.use_cases.rollouts import approvals
from migrations_app.use_cases.rollouts import lifecycle as rollouts
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft

ACTIONS = {JourneyRollout.Purpose.HOLD: HOLD, JourneyRollout.Purpose.RELEASE: RELEASE}
PLANNED_ANEW = frozenset({"expired", "policy_moved", "release_changed"})


ResumeNow = Callable[[LoadedJourney, Person], None]
"""Resumes the journey with the rights of that person, in the caller's transaction."""


def change_hold(
    journey_id: uuid.UUID, person: Person, *, asked_for: str, by: Actor, version: int | None = None
) -> Journey:
    """Requests the hold of Karpenter's own disruption for a paused journey, or its release; workers carry it out later.

    Raises PermissionDenied, InvalidInput for another value of `asked_for`, and Conflict `moved` if the journey is not
    paused or nothing is held.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_start(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        if asked_for == HELD:
            begin_hold(loaded, person, by=by)
        elif asked_for != RELEASED:
            raise InvalidInput("held or released", where="asked_for", code="bad_parameter")
        elif not request_release(loaded, person, by=by, resumes=False):
            raise Conflict("nothing is held for this upgrade", code="moved")
    return loaded.row


def begin_hold(loaded: LoadedJourney, person: Person, *, by: Actor) -> None:
    """Requests the hold, in the caller's transaction. Raises PermissionDenied; Conflict `moved` unless the journey is
    paused.
    """
    row = loaded.row
    refuse_person(may_start(person_over_cluster(person, row.cluster_id)))
    if row.state != "paused" or not loaded.steps:
        raise Conflict("Karpenter's own disruption can only be held while the upgrade is paused", code="moved")
    if held_by_step(loaded):
        raise Conflict("a step of this upgrade holds it until the step that restores the budgets", code="moved")
    newest = step_rollouts.newest_link(row)
    columns = {**_asked_by(person), "asked_for": HELD, "begun_at": timezone.now(), "earlier": newest}
    _, created = JourneyHold.objects.get_or_create(journey=row, defaults=columns)
    if not created:
        raise Conflict("it is held already, or its budgets are being restored", code="moved")
    store(loaded, loaded.progress, event=JourneyEvent(verb="journey.hold_asked", by=by))


def held_by_step(loaded: LoadedJourney) -> bool:
    """Whether a step of the journey holds disruption now: a pause that restored the budgets would end the hold of that
    step.
    """
    begun = [definition(step).action for step in loaded.steps if step.state in ("running", "failed", "done", "undoing")]
    return begun.count(HOLD) > begun.count(RELEASE)


def request_release(loaded: LoadedJourney, person: Person, *, by: Actor, resumes: bool, again: bool = True) -> bool:
    """Requests that the budgets are restored, in the caller's transaction; False if nothing is held. With `again`,
    which only people pass, a failed attempt is repeated; without, a failed attempt raises Conflict `disruption_held`.
    """
    hold = JourneyHold.objects.select_for_update().filter(journey=loaded.row).first()
    if hold is None:
        return False
    failed = hold.asked_for == RELEASED and next_hold_move(_hold_state(hold)).do == "tell"
    if failed and not again:
        raise Conflict("the budgets could not be restored: a person has to check that first", code="disruption_held")
    if hold.asked_for == HELD or failed:
        hold.asked_for, hold.asked_after = RELEASED, step_rollouts.newest_link(loaded.row)
        event = JourneyEvent(verb="journey.release_asked", by=by)
        store(loaded, loaded.progress, event=event, columns={"needs_person": False})
    # Who may not start rollouts here leaves the rights of who asked for the hold.
    if may_start(person_over_cluster(person, loaded.row.cluster_id)) is None:
        for name, value in _asked_by(person).items():
            setattr(hold, name, value)
    hold.resumes = resumes
    hold.save()
    return True


def stop_resuming(loaded: LoadedJourney, *, by: Actor, code: str = "asked") -> bool:
    """Cancels a resume that waits for restored budgets, in the caller's transaction: the journey stays paused, and the
    budgets are restored all the same. False if no resume was requested.
    """
    if not JourneyHold.objects.filter(journey=loaded.row, resumes=True).update(resumes=False):
        return False
    tells = "" if code == "asked" else "journey.paused"
    event = JourneyEvent(verb="journey.paused", by=by, code=code, tells=tells)
    store(loaded, loaded.progress, event=event, columns=cause_columns(code))
    return True


def _asked_by(person: Person) -> dict[str, object]:
    return {"person_id": person.id, "by_name": person.name, "by_token": person.method == "token", "wait_code": "",
            "cause": ""}  # fmt: skip


def advance_hold(journey_id: uuid.UUID, *, resume_now: ResumeNow) -> WorkToEnqueue:
    """Makes the next move of the journey's hold. When the hold has ended, the journey resumes if that was requested.
    Raises Conflict if the journey or the rollout changed meanwhile.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        hold = JourneyHold.objects.select_for_update().filter(journey_id=journey_id).first()
        if hold is None:
            return WorkToEnqueue()
        if hold.resumes and everything_stopped():
            hold.resumes = not stop_resuming(loaded, by=WORKER, code="kill_switch")
        move = next_hold_move(_hold_state(hold))
        if move.do == "draft":
            return WorkToEnqueue(drafts=[_draft_rollout(loaded, hold)])
        if move.do in ("end", "withdraw"):
            return WorkToEnqueue(again=_end_hold(loaded, hold, move=move, resume_now=resume_now))
    rollout = _current_rollout(hold)
    if rollout is None or move.do in ("wait", "tell"):
        _store_wait(hold, move.code)
        _notify_person(journey_id, move)
        return WorkToEnqueue(drafts=[rollout.pk] if rollout is not None and rollout.state == "draft" else [])
    return _advance_rollout(hold, rollout=rollout, move=move)


def _draft_rollout(loaded: LoadedJourney, hold: JourneyHold) -> uuid.UUID:
    purpose = JourneyRollout.Purpose.RELEASE if hold.asked_for == RELEASED else JourneyRollout.Purpose.HOLD
    row, step = loaded.row, loaded.current or loaded.steps[-1]
    author = Actor(name=hold.by_name, method="worker", id=hold.person_id)
    request = RolloutRequest(action=ACTIONS[purpose], ticket=row.ticket, note=f"for the pause of journey {row.pk}")
    rollout_id = draft(row.cluster_id, request, by=author)
    JourneyRollout.objects.create(step=step, rollout_id=rollout_id, purpose=purpose)
    return rollout_id


def _end_hold(loaded: LoadedJourney, hold: JourneyHold, *, move: HoldMove, resume_now: ResumeNow) -> bool:
    """Ends the hold and resumes the journey if that was requested, in one transaction. Returns whether the journey
    resumed.
    """
    if hold.resumes:
        # Locked before the first event, like everywhere else that changes both rows, so that there is no deadlock.
        own_rollouts = Rollout.objects.filter(
            journey_part__step__journey=loaded.row, state__in=[*HOLDING, "rolling_back"]
        )
        list(
            Rollout.objects.select_for_update()
            .filter(pk__in=own_rollouts.values("pk"))
            .order_by("pk")
            .values_list("pk")
        )
    rollout = _current_rollout(hold)
    if move.do == "withdraw" and rollout is not None:
        step_rollouts.withdraw(rollout, "journey_resumed")
    words = rollout.cause if rollout is not None and move.code != RELEASED else ""
    person = _person(hold)
    hold.delete()
    event = JourneyEvent(verb="journey.hold_over", by=WORKER, code=move.code, words=words)
    store(loaded, loaded.progress, event=event, columns={"needs_person": False})
    return hold.resumes and _resume(loaded, person, resume_now=resume_now)


def _resume(loaded: LoadedJourney, person: Person | None, *, resume_now: ResumeNow) -> bool:
    """Resumes the journey and returns True. If that is refused, the journey stays paused with the cause and people are
    notified.
    """
    try:
        if person is None:
            raise Conflict("the account that asked for it is closed", code="starter_gone")
        with transaction.atomic():
            resume_now(loaded, person)
    except PermissionDenied as error:
        code, words = "right_missing", error.message
    except Conflict as error:
        code, words = error.code, error.message
    else:
        return True
    stays = load(loaded.row.pk, lock=True)
    event = JourneyEvent(verb="journey.paused", by=WORKER, code=code, words=words, tells="journey.paused")
    store(stays, stays.progress, event=event, columns=cause_columns(code, words))
    return False


def _advance_rollout(hold: JourneyHold, *, rollout: Rollout, move: HoldMove) -> WorkToEnqueue:
    """Requests approval of the rollout, starts it or aborts it, with the rights of the person who requested the
    hold.
    """
    person = _person(hold)
    if person is None:
        _store_wait(hold, "starter_gone")
        return WorkToEnqueue()
    try:
        if move.do == "ask":
            approvals.request_approval(rollout.pk, person, by=WORKER, version=rollout.version)
            return WorkToEnqueue(again=True)
        if move.do == "abort":
            rollouts.abort(rollout.pk, person, by=WORKER, version=rollout.version)
            return WorkToEnqueue(again=True)
        rollouts.start(rollout.pk, person, digest=rollout.digest, by=WORKER, version=rollout.version)
        return WorkToEnqueue(rollouts=[rollout.pk])
    except PermissionDenied as error:
        _store_wait(hold, "right_missing", cause=error.message)
    except Conflict as error:
        if error.code in PLANNED_ANEW:
            step_rollouts.withdraw(rollout, error.code)
            return WorkToEnqueue(again=True)
        if error.code == "kill_switch":
            with transaction.atomic():
                stop_resuming(load(hold.journey_id, lock=True), by=WORKER, code=error.code)
        if error.code != "moved":
            _store_wait(hold, error.code, cause=error.message)  # the next sweep tries again
    return WorkToEnqueue()


def _store_wait(hold: JourneyHold, code: str, *, cause: str = "") -> None:
    """Stores what the hold waits for, for the page."""
    if (hold.wait_code, hold.cause) != (code, cause[:2000]):
        JourneyHold.objects.filter(pk=hold.pk).update(wait_code=code, cause=cause[:2000])


def _notify_person(journey_id: uuid.UUID, move: HoldMove) -> None:
    """Stores whether a person has to act, and notifies people when that begins."""
    person = move.do == "tell"
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        if loaded.row.needs_person == person:
            return
        verb, tells = ("journey.person_needed", "journey.needs_person") if person else ("journey.waiting", "")
        event = JourneyEvent(verb=verb, by=WORKER, code=move.code, tells=tells)
        store(loaded, loaded.progress, event=event, columns={"needs_person": person})


def _hold_state(hold: JourneyHold) -> HoldFacts:
    releasing, rollout = (
        hold.asked_for == RELEASED,
        _newest_rollout(hold, JourneyRollout.Purpose.HOLD, since=hold.earlier),
    )
    over = rollout is not None and not releasing and budgets_restored(rollout)
    return HoldFacts(
        releasing=releasing,
        hold=RolloutFacts(state="rolled_back") if over else _rollout_state(rollout),
        release=_rollout_state(_newest_rollout(hold, JourneyRollout.Purpose.RELEASE, since=hold.asked_after)),
    )


def _rollout_state(rollout: Rollout | None) -> RolloutFacts | None:
    return RolloutFacts(state=rollout.state, cause_code=rollout.cause_code) if rollout is not None else None


def _newest_rollout(hold: JourneyHold, purpose: str, *, since: int) -> Rollout | None:
    parts = JourneyRollout.objects.filter(step__journey_id=hold.journey_id, purpose=purpose, pk__gt=since)
    part = parts.select_related("rollout").last()
    return part.rollout if part else None


def _current_rollout(hold: JourneyHold) -> Rollout | None:
    """The rollout that the next move is about: the release rollout if there is one, else the hold rollout."""
    if hold.asked_for == RELEASED:
        release = _newest_rollout(hold, JourneyRollout.Purpose.RELEASE, since=hold.asked_after)
        if release is not None:
            return release
    return _newest_rollout(hold, JourneyRollout.Purpose.HOLD, since=hold.earlier)


def _person(hold: JourneyHold) -> Person | None:
    """The person who requested the hold or release last, with current rights; None if the account is closed."""
    user = User.objects.filter(pk=hold.person_id or 0, is_active=True).first()
    if user is None:
        return None
    method: Method = "token" if hold.by_token else "session"
    rights = rights_over(user, Journey.objects.values_list("cluster_id", flat=True).get(pk=hold.journey_id))
    return Person(id=user.pk, name=user.get_username(), rights=rights, method=method)
