"""Approval of rollouts: every approval is bound to the digest of one plan (A40-A45)."""

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.access import DESTRUCTIVE, Person, may_approve, may_break_glass, may_prepare
from migrations_app.actions import registry
from migrations_app.actions.plan import Plan
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.models.rollout import Approval, Outbox, Rollout
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.rollouts.detail import doubts_of
from migrations_app.queries.rollouts.policies import approvals_needed, risk_of
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts.start_checks import refuse_expired, refuse_moved, refuse_unrehearsed
from migrations_app.use_cases.rollouts.transitions import TransitionCause, locked_rollout, require_rollout, transition

TYPED: tuple[str, ...] = ("high", "destructive")
"""Risks for which an approver has to type the cluster's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedApproval:
    """One person's approval of something that covers the plan, such as the journey that made the rollout."""

    approver_id: int | None
    approver_name: str
    step_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What an approver submits (A40): the digest that they reviewed, the form's nonce, and the accepted steps."""

    digest: str
    nonce: str
    accepted: tuple[str, ...] = ()
    reason: str = ""
    typed: str = ""
    """The cluster's name as typed, for plans with high or destructive risk."""


def request_approval(
    rollout_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None, typed: str | None = None
) -> Rollout:
    """Requests approval of the preview; the plan cannot change from then on.

    Approved at once if no approval is needed. `typed` is the cluster's name if the action requires it; None for API
    callers. Raises PermissionDenied, InvalidInput, Conflict.
    """
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_prepare(person_over_cluster(person, row.cluster_id)))
        refuse_moved(row, version)
        refuse_expired(row)
        action = registry.find(row.action)
        if typed is not None and action is not None and action.typed:
            _refuse_untyped(row, typed)
        transition(row, "awaiting_approval", by=by, nonce=secrets.token_hex(16))
        if not approvals_needed(row) and not acknowledgements_needed(row):
            refuse_unrehearsed(row)
            transition(row, "approved", by=by, cause=TransitionCause(code="no_approval_asked"))
    return row


def approve(rollout_id: uuid.UUID, person: Person, *, approval_request: ApprovalRequest, by: Actor) -> Rollout:
    """Records one approval.

    Raises PermissionDenied, InvalidInput for a missing acknowledgement or name, Conflict for another digest, an expired
    plan, or a rehearsal that the policy requires and that is missing.
    """
    now = timezone.now()
    with transaction.atomic():
        row = _awaiting(rollout_id)
        risk = risk_of(row.risk)
        scoped_person = person_over_cluster(person, row.cluster_id)
        author = row.author_id or 0
        refuse_person(may_approve(scoped_person, author=author, makers=makers_of(author), risk=risk, now=now))
        refuse_expired(row)
        refuse_unrehearsed(row)
        _refuse_other_plan(row, approval_request, typed=risk in TYPED)
        _store(row, person, approval_request=approval_request, now=now)
        record(_event(row, by, verb="rollout.yes", outcome="yes", why=approval_request.reason))
        if row.approvals.count() >= approvals_needed(row):
            transition(row, "approved", by=by)
    return row


def copy_approvals(
    row: Rollout, approvals: Iterable[CarriedApproval], *, source: str, by: Actor, deletes: bool = False
) -> None:
    """Copies approvals to a plan that waits for approval, in the caller's transaction.

    The caller has compared the plan with what was approved; `source` names that. An approval of the plan's own author
    is left out (A42). A plan with steps that need acknowledgement gets none, and neither does a destructive plan unless
    `deletes` is set: the approvals then cover the deleted objects, and the policy allows that. For a destructive plan,
    approvals without a recent sign-in are left out (A44). Raises Conflict `rehearsal_missing`.
    """
    destroys = risk_of(row.risk) in DESTRUCTIVE
    if acknowledgements_needed(row) or (destroys and not deletes):
        return
    refuse_unrehearsed(row)
    for approval in approvals:
        if approval.approver_id in (None, row.author_id) or (destroys and not approval.step_up):
            continue
        Approval.objects.create(
            rollout=row,
            approver_id=approval.approver_id,
            approver_name=approval.approver_name,
            digest=row.digest,
            nonce=row.nonce,
            step_up=approval.step_up,
            reason=source,
        )
        record(
            _event(
                row, by, verb="rollout.yes", outcome="carried", why=f"{source}, approved by {approval.approver_name}"
            )
        )
    if row.approvals.count() >= approvals_needed(row):
        transition(row, "approved", by=by)


def break_glass(rollout_id: uuid.UUID, person: Person, *, approval_request: ApprovalRequest, by: Actor) -> Rollout:
    """Approves alone in an emergency: needs a reason, is marked permanently, and notifies every approver (A45).

    All other checks stay. Raises as `approve`, and InvalidInput `reason_needed`.
    """
    now = timezone.now()
    refuse_person(may_break_glass(person_over_cluster(person, require_rollout(rollout_id).cluster_id), now=now))
    if not approval_request.reason.strip():
        raise InvalidInput("describe the emergency", where="reason", code="reason_needed")
    with transaction.atomic():
        row = _awaiting(rollout_id)
        refuse_expired(row)
        refuse_unrehearsed(row)
        _refuse_other_plan(row, approval_request, typed=True)
        _store(row, person, approval_request=approval_request, now=now, alone=True)
        record(_event(row, by, verb="rollout.break_glass", outcome="alone", why=approval_request.reason))
        Outbox.objects.create(topic="rollout.break_glass", body={"rollout": str(row.pk), "by": person.name})
        transition(row, "approved", by=by, cause=TransitionCause(code="break_glass", words=approval_request.reason))
    return row


def reject(rollout_id: uuid.UUID, person: Person, *, reason: str, by: Actor, version: int | None = None) -> Rollout:
    """Rejects the plan; a plan for which approval was not requested yet is withdrawn instead. Raises PermissionDenied,
    Conflict.
    """
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        scoped_person = person_over_cluster(person, row.cluster_id)
        if "approve" not in scoped_person.rights:
            refuse_person(may_prepare(scoped_person))
        refuse_moved(row, version)
        if row.state in ("draft", "previewed"):
            transition(
                row, "expired", by=by, cause=TransitionCause(code="withdrawn", words=reason), finished_at=timezone.now()
            )
        else:
            transition(
                row, "rejected", by=by, cause=TransitionCause(code="rejected", words=reason), finished_at=timezone.now()
            )
    return row


def acknowledgements_needed(row: Rollout) -> dict[str, str]:
    """The reasons why an approver has to accept a step explicitly, by step id."""
    return doubts_of(row, msgspec.json.decode(bytes(row.plan), type=Plan))


def _awaiting(rollout_id: uuid.UUID) -> Rollout:
    row = locked_rollout(rollout_id)
    if row.state != "awaiting_approval":
        raise Conflict(f"a plan that is {row.state.replace('_', ' ')} cannot be approved", code="moved")
    return row


def store_approval(
    approvals: Any,  # noqa: ANN401 - the manager of the approvals of a rollout, journey or campaign
    person: Person,
    *,
    approval_request: ApprovalRequest,
    subject: str,
    now: datetime,
    **columns: object,
) -> None:
    """Stores the person's approval. Raises Conflict `approved_already` for a second one; `subject` names what it is of,
    for people.
    """
    try:
        with transaction.atomic():
            approvals.create(
                approver_id=person.id,
                approver_name=person.name,
                digest=approval_request.digest,
                nonce=approval_request.nonce,
                step_up=person.fresh_until is not None and person.fresh_until > now,
                reason=approval_request.reason[:2000],
                **columns,
            )
    except IntegrityError:
        raise Conflict(f"you have approved this {subject} already", code="approved_already") from None


def refuse_other_digest(approval_request: ApprovalRequest, *, digest: str, nonce: str, subject: str) -> None:
    """Raises Conflict for an approval of another digest (A40), and for one by a form that is no longer valid."""
    if not secrets.compare_digest(approval_request.digest.encode(), digest.encode()):
        raise Conflict(f"the {subject} has changed since this page was loaded", code="digest_moved")
    if not secrets.compare_digest(approval_request.nonce.encode(), nonce.encode()):
        raise Conflict("this form is stale; reload the page", code="nonce_moved")


def _store(
    row: Rollout, person: Person, *, approval_request: ApprovalRequest, now: datetime, alone: bool = False
) -> None:
    store_approval(row.approvals, person, approval_request=approval_request, subject="plan", now=now, break_glass=alone)
    accepted = sorted({*row.accepted, *approval_request.accepted})
    Rollout.objects.filter(pk=row.pk).update(accepted=accepted)
    row.accepted = accepted


def _refuse_other_plan(row: Rollout, approval_request: ApprovalRequest, *, typed: bool) -> None:
    refuse_other_digest(approval_request, digest=row.digest, nonce=row.nonce, subject="plan")
    left = sorted(set(acknowledgements_needed(row)) - set(approval_request.accepted))
    if left:
        words = f"these steps need acknowledgement, one by one: {', '.join(left)}"
        raise InvalidInput(words, where="accepted", code="not_accepted")
    if typed:
        _refuse_untyped(row, approval_request.typed)


def _refuse_untyped(row: Rollout, typed: str) -> None:
    if typed != row.cluster_name:
        raise InvalidInput("type the cluster's name as it is shown above", where="typed", code="name_not_typed")


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
