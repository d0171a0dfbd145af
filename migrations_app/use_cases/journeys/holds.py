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
from migrations_app.journeys.disruption_hold import HELD, HOLD, RELEASE, RELEASED, HoldMove, HoldSeen, next_hold_move
from migrations_app.journeys.next_move import RolloutSeen
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout
from migrations_app.models.rollout import Rollout
from migrations_app.queries.journeys.disruption_hold import was_taken_back
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.accounts.rights import over, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.approvals import refuse_old
from migrations_app.use_cases.journeys.preview import Woken
from migrations_app.use_cases.journeys.transitions import (
    JourneyEvent,
    LoadedJourney,
    caused,
    definition,
    load,
    store,
)
from migrations_app.use_cases.rollouts import approvals
from migrations_app.use_cases.rollouts import lifecycle as rollouts
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft

ACTIONS = {JourneyRollout.Purpose.HOLD: HOLD, JourneyRollout.Purpose.RELEASE: RELEASE}
ANEW = frozenset({"expired", "policy_moved"})


GoOn = Callable[[LoadedJourney, Person], None]
"""Resumes the journey with the rights of that person, in the caller's transaction."""


def change_hold(
    journey_id: uuid.UUID, person: Person, *, asked_for: str, by: Actor, version: int | None = None
) -> Journey:
    """Requests the hold of Karpenter's own disruption for a paused journey, or its release; workers carry it out later.

    Raises PermissionDenied, InvalidInput for another value of `asked_for`, and Conflict `moved` if the journey is not
    paused or nothing is held.
    """
    with transaction.atomic():
        here = load(journey_id, lock=True)
        refuse_person(may_start(over(person, here.row.cluster_id)))
        refuse_old(here, version)
        if asked_for == HELD:
            begin_hold(here, person, by=by)
        elif asked_for != RELEASED:
            raise InvalidInput("held or released", where="asked_for", code="bad_parameter")
        elif not ask_for_release(here, person, by=by, resumes=False):
            raise Conflict("nothing is held for this upgrade", code="moved")
    return here.row


def begin_hold(here: LoadedJourney, person: Person, *, by: Actor) -> None:
    """Requests the hold, in the caller's transaction. Raises PermissionDenied; Conflict `moved` unless the journey is
    paused.
    """
    row = here.row
    refuse_person(may_start(over(person, row.cluster_id)))
    if row.state != "paused" or not here.steps:
        raise Conflict("Karpenter's own disruption is held while an upgrade is paused", code="moved")
    if held_by_step(here):
        raise Conflict("a step of this upgrade holds it until the step that restores the budgets", code="moved")
    newest = step_rollouts.newest_link(row)
    columns = {**_asked_by(person), "asked_for": HELD, "begun_at": timezone.now(), "earlier": newest}
    _, created = JourneyHold.objects.get_or_create(journey=row, defaults=columns)
    if not created:
        raise Conflict("it is held already, or its budgets are being restored", code="moved")
    store(here, here.progress, event=JourneyEvent(verb="journey.hold_asked", by=by))


def held_by_step(here: LoadedJourney) -> bool:
    """Whether a step of the journey holds disruption now: a pause that restored the budgets would end the hold of that
    step.
    """
    begun = [definition(step).action for step in here.steps if step.state in ("running", "failed", "done", "undoing")]
    return begun.count(HOLD) > begun.count(RELEASE)


def ask_for_release(here: LoadedJourney, person: Person, *, by: Actor, resumes: bool, again: bool = True) -> bool:
    """Requests that the budgets are restored, in the caller's transaction; False if nothing is held. With `again`,
    which only people pass, a failed attempt is repeated; without, a failed attempt raises Conflict `disruption_held`.
    """
    hold = JourneyHold.objects.select_for_update().filter(journey=here.row).first()
    if hold is None:
        return False
    failed = hold.asked_for == RELEASED and next_hold_move(_seen(hold)).do == "tell"
    if failed and not again:
        raise Conflict("the budgets could not be restored: a person looks at that first", code="disruption_held")
    if hold.asked_for == HELD or failed:
        hold.asked_for, hold.asked_after = RELEASED, step_rollouts.newest_link(here.row)
        event = JourneyEvent(verb="journey.release_asked", by=by)
        store(here, here.progress, event=event, columns={"needs_person": False})
    if may_start(over(person, here.row.cluster_id)) is None:  # else with the rights of the hold's person
        for name, value in _asked_by(person).items():
            setattr(hold, name, value)
    hold.resumes = resumes
    hold.save()
    return True


def stop_resuming(here: LoadedJourney, *, by: Actor, code: str = "asked") -> bool:
    """Cancels a resume that waits for restored budgets, in the caller's transaction: the journey stays paused, and the
    budgets are restored all the same. False if no resume was requested.
    """
    if not JourneyHold.objects.filter(journey=here.row, resumes=True).update(resumes=False):
        return False
    tells = "" if code == "asked" else "journey.paused"
    event = JourneyEvent(verb="journey.paused", by=by, code=code, tells=tells)
    store(here, here.progress, event=event, columns=caused(code))
    return True


def _asked_by(person: Person) -> dict[str, object]:
    return {"person_id": person.id, "by_name": person.name, "by_token": person.method == "token", "wait_code": "",
            "cause": ""}  # fmt: skip


def advance_hold(journey_id: uuid.UUID, *, go_on: GoOn) -> Woken:
    """Makes the next move of the journey's hold. When the hold has ended, the journey resumes if that was requested.
    Raises Conflict if the journey or the rollout changed meanwhile.
    """
    with transaction.atomic():
        here = load(journey_id, lock=True)
        hold = JourneyHold.objects.select_for_update().filter(journey_id=journey_id).first()
        if hold is None:
            return Woken()
        if hold.resumes and everything_stopped():
            hold.resumes = not stop_resuming(here, by=WORKER, code="kill_switch")
        move = next_hold_move(_seen(hold))
        if move.do == "draft":
            return Woken(drafts=[_draft_rollout(here, hold)])
        if move.do in ("end", "withdraw"):
            return Woken(again=_end_hold(here, hold, move=move, go_on=go_on))
    rollout = _now(hold)
    if rollout is None or move.do in ("wait", "tell"):
        _note(hold, move.code)
        _ask_person(journey_id, move)
        return Woken(drafts=[rollout.pk] if rollout is not None and rollout.state == "draft" else [])
    return _with_rollout(hold, rollout=rollout, move=move)


def _draft_rollout(here: LoadedJourney, hold: JourneyHold) -> uuid.UUID:
    purpose = JourneyRollout.Purpose.RELEASE if hold.asked_for == RELEASED else JourneyRollout.Purpose.HOLD
    row, step = here.row, here.current or here.steps[-1]
    author = Actor(name=hold.by_name, method="worker", id=hold.person_id)
    request = RolloutRequest(action=ACTIONS[purpose], ticket=row.ticket, note=f"for the pause of journey {row.pk}")
    rollout_id = draft(row.cluster_id, request, by=author)
    JourneyRollout.objects.create(step=step, rollout_id=rollout_id, purpose=purpose)
    return rollout_id


def _end_hold(here: LoadedJourney, hold: JourneyHold, *, move: HoldMove, go_on: GoOn) -> bool:
    """Ends the hold and resumes the journey if that was requested, in one transaction. Returns whether the journey
    resumed.
    """
    if hold.resumes:
        # Locked before the first event, like everywhere else that changes both rows, so that there is no deadlock.
        own_rollouts = Rollout.objects.filter(
            journey_part__step__journey=here.row, state__in=[*HOLDING, "rolling_back"]
        )
        list(
            Rollout.objects.select_for_update()
            .filter(pk__in=own_rollouts.values("pk"))
            .order_by("pk")
            .values_list("pk")
        )
    rollout = _now(hold)
    if move.do == "withdraw" and rollout is not None:
        step_rollouts.withdraw(rollout, "journey_resumed")
    words = rollout.cause if rollout is not None and move.code != RELEASED else ""
    person = _person(hold)
    hold.delete()
    event = JourneyEvent(verb="journey.hold_over", by=WORKER, code=move.code, words=words)
    store(here, here.progress, event=event, columns={"needs_person": False})
    return hold.resumes and _resumed(here, person, go_on=go_on)


def _resumed(here: LoadedJourney, person: Person | None, *, go_on: GoOn) -> bool:
    """Resumes the journey and returns True. If that is refused, the journey stays paused with the cause and people are
    notified.
    """
    try:
        if person is None:
            raise Conflict("the account that asked for it is closed", code="starter_gone")
        with transaction.atomic():
            go_on(here, person)
    except PermissionDenied as refused:
        code, words = "right_missing", refused.message
    except Conflict as refused:
        code, words = refused.code, refused.message
    else:
        return True
    stays = load(here.row.pk, lock=True)
    event = JourneyEvent(verb="journey.paused", by=WORKER, code=code, words=words, tells="journey.paused")
    store(stays, stays.progress, event=event, columns=caused(code, words))
    return False


def _with_rollout(hold: JourneyHold, *, rollout: Rollout, move: HoldMove) -> Woken:
    """Requests approval of the rollout, starts it or aborts it, with the rights of the person who requested the
    hold.
    """
    person = _person(hold)
    if person is None:
        _note(hold, "starter_gone")
        return Woken()
    try:
        if move.do == "ask":
            approvals.ask(rollout.pk, person, by=WORKER, version=rollout.version)
            return Woken(again=True)
        if move.do == "abort":
            rollouts.abort(rollout.pk, person, by=WORKER, version=rollout.version)
            return Woken(again=True)
        rollouts.start(rollout.pk, person, digest=rollout.digest, by=WORKER, version=rollout.version)
        return Woken(rollouts=[rollout.pk])
    except PermissionDenied as refused:
        _note(hold, "right_missing", cause=refused.message)
    except Conflict as refused:
        if refused.code in ANEW:
            step_rollouts.withdraw(rollout, refused.code)
            return Woken(again=True)
        if refused.code == "kill_switch":
            with transaction.atomic():
                stop_resuming(load(hold.journey_id, lock=True), by=WORKER, code=refused.code)
        if refused.code != "moved":
            _note(hold, refused.code, cause=refused.message)  # the next sweep tries again
    return Woken()


def _note(hold: JourneyHold, code: str, *, cause: str = "") -> None:
    """Stores what the hold waits for, for the page."""
    if (hold.wait_code, hold.cause) != (code, cause[:2000]):
        JourneyHold.objects.filter(pk=hold.pk).update(wait_code=code, cause=cause[:2000])


def _ask_person(journey_id: uuid.UUID, move: HoldMove) -> None:
    """Stores whether a person has to act, and notifies people when that begins."""
    person = move.do == "tell"
    with transaction.atomic():
        here = load(journey_id, lock=True)
        if here.row.needs_person == person:
            return
        verb, tells = ("journey.person_needed", "journey.needs_person") if person else ("journey.waiting", "")
        event = JourneyEvent(verb=verb, by=WORKER, code=move.code, tells=tells)
        store(here, here.progress, event=event, columns={"needs_person": person})


def _seen(hold: JourneyHold) -> HoldSeen:
    releasing, rollout = hold.asked_for == RELEASED, _newest(hold, JourneyRollout.Purpose.HOLD, since=hold.earlier)
    over = rollout is not None and not releasing and was_taken_back(rollout)
    return HoldSeen(
        releasing=releasing,
        hold=RolloutSeen(state="rolled_back") if over else _rollout_seen(rollout),
        release=_rollout_seen(_newest(hold, JourneyRollout.Purpose.RELEASE, since=hold.asked_after)),
    )


def _rollout_seen(rollout: Rollout | None) -> RolloutSeen | None:
    return RolloutSeen(state=rollout.state, cause_code=rollout.cause_code) if rollout is not None else None


def _newest(hold: JourneyHold, purpose: str, *, since: int) -> Rollout | None:
    parts = JourneyRollout.objects.filter(step__journey_id=hold.journey_id, purpose=purpose, pk__gt=since)
    part = parts.select_related("rollout").last()
    return part.rollout if part else None


def _now(hold: JourneyHold) -> Rollout | None:
    """The rollout that the next move is about: the release rollout if there is one, else the hold rollout."""
    if hold.asked_for == RELEASED:
        release = _newest(hold, JourneyRollout.Purpose.RELEASE, since=hold.asked_after)
        if release is not None:
            return release
    return _newest(hold, JourneyRollout.Purpose.HOLD, since=hold.earlier)


def _person(hold: JourneyHold) -> Person | None:
    """The person who requested the hold or release last, with current rights; None if the account is closed."""
    user = User.objects.filter(pk=hold.person_id or 0, is_active=True).first()
    if user is None:
        return None
    method: Method = "token" if hold.by_token else "session"
    rights = rights_over(user, Journey.objects.values_list("cluster_id", flat=True).get(pk=hold.journey_id))
    return Person(id=user.pk, name=user.get_username(), rights=rights, method=method)
