"""Previewed -> approved -> running: binds people to one digest, and lets nothing begin without them (A40-A45)."""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.access import Person, Refusal, may_approve, may_prepare, may_start, may_stop
from migrations_app.actions.changes import RISKS, Risk
from migrations_app.errors import BadInput, Conflict, KarpdashError
from migrations_app.flow.people import rights_of
from migrations_app.flow.policy import approvals_asked, closed, policy_of
from migrations_app.flow.record import Actor, Event, record
from migrations_app.flow.transition import Cause, found, transition
from migrations_app.models.policy import KillSwitch
from migrations_app.models.rollout import Approval, Rollout


class Denied(KarpdashError):
    """This person may not do that; `code` and the message say why (HTTP 403)."""

    code = "forbidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Yes:
    """What an approver sends back (A40): the digest they looked at, the nonce, and what they take on themselves."""

    digest: str
    nonce: str
    accepted: tuple[str, ...] = ()
    reason: str = ""
    typed: str = ""
    """The cluster's name, typed, where the plan destroys."""


def ask(rollout_id: uuid.UUID, person: Person, *, by: Actor) -> Rollout:
    """Freezes the preview and asks for approval; without anybody to ask it is approved at once. Raises Conflict."""
    _refuse(may_prepare(person))
    with transaction.atomic():
        row = _locked(rollout_id)
        _refuse_late(row)
        transition(row, "awaiting_approval", by=by, nonce=secrets.token_hex(16))
        if not needed(row):
            transition(row, "approved", by=by, cause=Cause(code="no_approval_asked"))
    return row


def approve(rollout_id: uuid.UUID, person: Person, *, yes: Yes, by: Actor) -> Rollout:
    """One person's yes. Raises Denied, BadInput for a missing name, Conflict for another digest or a late yes."""
    now = timezone.now()
    with transaction.atomic():
        row = _locked(rollout_id)
        if row.state != "awaiting_approval":
            raise Conflict(f"a plan that is {row.state} is not approved", code="moved")
        _refuse(may_approve(person, author=row.author_id or 0, editors=(), risk=risk_of(row), now=now))
        _refuse_late(row)
        _refuse_other(row, yes)
        _store(row, person, yes=yes, now=now)
        record(_event(row, by, verb="rollout.yes", outcome="yes", why=yes.reason))
        if row.approvals.count() >= needed(row):
            accepted = sorted({*row.accepted, *yes.accepted})
            transition(row, "approved", by=by, accepted=accepted)
    return row


def reject(rollout_id: uuid.UUID, person: Person, *, reason: str, by: Actor) -> Rollout:
    """A no ends the plan. Raises Denied, Conflict."""
    if "approve" not in person.rights:
        _refuse(may_prepare(person))
    with transaction.atomic():
        row = _locked(rollout_id)
        transition(row, "rejected", by=by, cause=Cause(code="rejected", words=reason), finished_at=timezone.now())
    return row


def start(rollout_id: uuid.UUID, person: Person, *, digest: str, by: Actor) -> Rollout:
    """Running, once: the digest is compared under the row's lock, with the approvers' rights of this moment (A41).

    Raises Denied, Conflict: `digest_moved`, `approval_missing`, `closed`, `kill_switch`, `busy`, `expired`, `moved`.
    """
    _refuse(may_start(person))
    with transaction.atomic():
        row = _locked(rollout_id)
        if digest != row.digest:
            raise Conflict("the plan is not the one that was shown", code="digest_moved")
        _refuse_late(row)
        _refuse_start(row)
        began = {"started_by_name": person.name, "started_at": timezone.now(), "wish": ""}
        _run(row, by=by, columns=began)
        if row.rolls_back_id:
            transition(_locked(row.rolls_back_id), "rolling_back", by=by, cause=Cause(code="roll_back"))
    return row


def pause(rollout_id: uuid.UUID, person: Person, *, by: Actor) -> None:
    """Asks the worker to stop after the request under way (A10). Raises Denied, Conflict."""
    _wish(rollout_id, person, wish=Rollout.Wish.PAUSE, by=by)


def resume(rollout_id: uuid.UUID, person: Person, *, by: Actor) -> Rollout:
    """Running again, under all the guards of a start (A10). Raises Denied, Conflict."""
    _refuse(may_start(person))
    with transaction.atomic():
        row = _locked(rollout_id)
        if row.state != "paused":
            raise Conflict(f"a rollout that is {row.state} is not resumed", code="moved")
        _refuse_start(row)
        _run(row, by=by, columns={"wish": "", "gate_since": None, "unknown_since": None})
    return row


def abort(rollout_id: uuid.UUID, person: Person, *, by: Actor) -> None:
    """Ends it: at once where it stands still, else after the request under way is settled (A10)."""
    row = found(rollout_id)
    if row.state == "running":
        _wish(rollout_id, person, wish=Rollout.Wish.ABORT, by=by)
        return
    _refuse(may_stop(person))
    with transaction.atomic():
        transition(_locked(rollout_id), "aborted", by=by, cause=Cause(code="asked"), finished_at=timezone.now())


def settle_by_person(rollout_id: uuid.UUID, person: Person, *, then: str, reason: str, by: Actor) -> Rollout:
    """A person's word on a rollout that needs attention (A09): paused, failed or aborted, with the reason."""
    _refuse(may_start(person))
    if not reason.strip():
        raise BadInput("a reason is needed", where="reason", code="reason_needed")
    with transaction.atomic():
        row = _locked(rollout_id)
        told = Cause(code="settled", words=reason)
        match then:
            case "paused":
                transition(row, "paused", by=by, cause=told)
            case "failed":
                transition(row, "failed", by=by, cause=told, finished_at=timezone.now())
            case "aborted":
                transition(row, "aborted", by=by, cause=told, finished_at=timezone.now())
            case _:
                raise BadInput("paused, failed or aborted", where="then", code="bad_state")
    return row


def needed(row: Rollout) -> int:
    """How many approvals its risk asks for now."""
    return approvals_asked(policy_of(row.cluster_id), risk_of(row))


def risk_of(row: Rollout) -> Risk:
    """The plan's risk; an unknown word counts as the highest."""
    return next((risk for risk in RISKS if risk == row.risk), "destructive")


def _wish(rollout_id: uuid.UUID, person: Person, *, wish: str, by: Actor) -> None:
    _refuse(may_stop(person))
    with transaction.atomic():
        row = _locked(rollout_id)
        # A wish to abort is never taken back by one to pause.
        open_wish = Rollout.objects.filter(pk=row.pk, state="running").exclude(wish=Rollout.Wish.ABORT)
        if not open_wish.update(wish=wish):
            raise Conflict(f"a rollout that is {row.state} cannot be asked to {wish}", code="moved")
        record(_event(row, by, verb=f"rollout.{wish}_asked", outcome="asked"))


def _run(row: Rollout, *, by: Actor, columns: dict[str, Any]) -> None:
    try:
        with transaction.atomic():
            transition(row, "running", by=by, **columns)
    except IntegrityError:
        other = Rollout.objects.filter(cluster_id=row.cluster_id, state__in=("running", "paused", "needs_attention"))
        holder = other.exclude(pk=row.pk).first()
        raise Conflict(f"rollout {holder.pk if holder else ''} holds this cluster", code="busy") from None


def _refuse_start(row: Rollout) -> None:
    """The guards of a start, and of every start again."""
    if KillSwitch.objects.filter(on=True).exists():
        raise Conflict("everything that changes clusters is stopped", code="kill_switch")
    policy = policy_of(row.cluster_id)
    if policy.version != row.policy_version:
        raise Conflict("the policy of the cluster was changed since the plan was made", code="policy_moved")
    if why := closed(policy, row.action, now=timezone.now()):
        raise Conflict(why, code="closed")
    good = [one for one in row.approvals.select_related("approver") if _counts(row, one)]
    if len(good) < needed(row):
        raise Conflict(f"{len(good)} of {needed(row)} approvals hold", code="approval_missing")


def _counts(row: Rollout, one: Approval) -> bool:
    """Whether the yes is to this very plan and its giver may still give it."""
    same = one.digest == row.digest and one.nonce == row.nonce
    person = one.approver
    return same and person is not None and person.is_active and "approve" in rights_of(person)


def _store(row: Rollout, person: Person, *, yes: Yes, now: datetime) -> None:
    try:
        with transaction.atomic():
            Approval.objects.create(
                rollout=row,
                approver_id=person.id,
                approver_name=person.name,
                digest=yes.digest,
                nonce=yes.nonce,
                step_up=person.fresh_until is not None and person.fresh_until > now,
                reason=yes.reason[:2000],
            )
    except IntegrityError:
        raise Conflict("you have approved this plan already", code="approved_already") from None
    doubts = sorted({*row.accepted, *yes.accepted})
    Rollout.objects.filter(pk=row.pk).update(accepted=doubts)
    row.accepted = doubts


def _refuse_other(row: Rollout, yes: Yes) -> None:
    if not secrets.compare_digest(yes.digest.encode(), row.digest.encode()):
        raise Conflict("the plan is not the one that you looked at", code="digest_moved")
    if not secrets.compare_digest(yes.nonce.encode(), row.nonce.encode()):
        raise Conflict("this form is of an older question", code="nonce_moved")
    left = sorted(set(row.provable) - set(yes.accepted) - set(row.accepted))
    if left:
        raise BadInput(f"steps that no dry run proves have to be accepted: {', '.join(left)}", where="accepted")
    if risk_of(row) in ("high", "destructive") and yes.typed != row.cluster_name:
        raise BadInput("type the cluster's name", where="typed", code="name_not_typed")


def _refuse_late(row: Rollout) -> None:
    if row.expires_at <= timezone.now():
        raise Conflict("the plan is too old; make a new preview", code="expired")


def _refuse(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise Denied(refusal.why, code=refusal.code)


def _locked(rollout_id: uuid.UUID) -> Rollout:
    found(rollout_id)
    return Rollout.objects.select_for_update().get(pk=rollout_id)


def _event(row: Rollout, by: Actor, *, verb: str, outcome: str, why: str = "") -> Event:
    return Event(
        verb=verb,
        actor=by,
        object=f"{row.title} on {row.cluster_name}",
        outcome=outcome,
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        correlation=str(row.pk),
        detail={"why": why} if why else {},
    )
