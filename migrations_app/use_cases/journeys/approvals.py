"""Approval of journeys, bound to the journey's digest (A40). It covers the previewed plans up to a risk limit."""

import secrets
import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_approve, may_prepare
from migrations_app.actions.changes import Risk
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.journeys.plan import JourneyPlan
from migrations_app.models.journey import Journey
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.journeys.journeys import approvals_needed
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, load, move, store
from migrations_app.use_cases.rollouts.approvals import TYPED, ApprovalRequest, refuse_other_digest, store_approval


def request_journey_approval(
    journey_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None
) -> Journey:
    """Requests approval of the previewed journey.

    The journey is approved at once if the policy needs no approver for the plans that the approval covers. Raises
    PermissionDenied, Conflict.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        refuse_person(may_prepare(person_over_cluster(person, loaded.row.cluster_id)))
        refuse_stale_journey(loaded, version)
        refuse_expired(loaded.row)
        needed = approvals_needed(loaded.row, loaded.plan)
        event = JourneyEvent(
            verb="journey.awaiting_approval", by=by, tells="journey.approval_requested" if needed else ""
        )
        _refuse_unless_in(loaded, "previewed")
        move(loaded, "awaiting_approval", event=event, nonce=secrets.token_hex(16))
        if not needed:
            move(loaded, "approved", event=JourneyEvent(verb="journey.approved", by=by, code="no_approval_asked"))
    return loaded.row


def approve_journey(journey_id: uuid.UUID, person: Person, *, approval_request: ApprovalRequest, by: Actor) -> Journey:
    """Records one approval of the journey.

    Raises PermissionDenied, InvalidInput for a missing name, Conflict for another digest or an expired journey.
    """
    now = timezone.now()
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        row, plan = loaded.row, loaded.plan
        _refuse_unless_in(loaded, "awaiting_approval")
        risk: Risk = plan.risk or "low"
        scoped_person = person_over_cluster(person, row.cluster_id)
        author = row.author_id or 0
        refuse_person(may_approve(scoped_person, author=author, makers=makers_of(author), risk=risk, now=now))
        refuse_expired(row)
        _refuse_other_plan(loaded, approval_request, plan=plan)
        store_approval(row.approvals, person, approval_request=approval_request, subject="journey", now=now)
        store(
            loaded,
            loaded.progress,
            event=JourneyEvent(verb="journey.yes", by=by, code="yes", words=approval_request.reason),
        )
        if row.approvals.count() >= approvals_needed(row, plan):
            move(loaded, "approved", event=JourneyEvent(verb="journey.approved", by=by))
    return loaded.row


def reject_journey(
    journey_id: uuid.UUID, person: Person, *, reason: str, by: Actor, version: int | None = None
) -> Journey:
    """Rejects a journey that waits for approval or its start.

    A draft or preview is withdrawn instead: its state is expired. Raises PermissionDenied, Conflict.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        scoped_person = person_over_cluster(person, loaded.row.cluster_id)
        if "approve" not in scoped_person.rights:
            refuse_person(may_prepare(scoped_person))
        refuse_stale_journey(loaded, version)
        early = loaded.row.state in ("draft", "previewed")
        code = "withdrawn" if early else "rejected"
        verb = "journey.expired" if early else "journey.rejected"
        columns = {"cause_code": code, "cause": reason[:2000], "finished_at": timezone.now()}
        event = JourneyEvent(verb=verb, by=by, code=code, words=reason)
        move(loaded, "expired" if early else "rejected", event=event, **columns)
    return loaded.row


def refuse_expired(row: Journey) -> None:
    """Raises Conflict `expired` for a journey that was not started in time."""
    if row.expires_at <= timezone.now():
        raise Conflict("the journey is too old; make a new one", code="expired")


def refuse_stale_journey(loaded: LoadedJourney, version: int | None) -> None:
    """Raises Conflict `moved` if the journey is no longer at the version that the caller read (R33)."""
    if version is not None and loaded.row.version != version:
        words = f"the journey was changed meanwhile: it is {loaded.row.state.replace('_', ' ')} now"
        raise Conflict(words, code="moved")


def _refuse_unless_in(loaded: LoadedJourney, state: str) -> None:
    if loaded.row.state != state:
        raise Conflict(f"the journey is {loaded.row.state.replace('_', ' ')}", code="moved")


def _refuse_other_plan(loaded: LoadedJourney, approval_request: ApprovalRequest, *, plan: JourneyPlan) -> None:
    row = loaded.row
    refuse_other_digest(approval_request, digest=row.digest, nonce=row.nonce, subject="journey")
    if plan.risk in TYPED and approval_request.typed != row.cluster_name:
        raise InvalidInput("type the cluster's name as it is shown above", where="typed", code="name_not_typed")
