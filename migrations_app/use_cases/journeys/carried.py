"""Gives a journey the approvals of what covers it, such as those of its campaign."""

import uuid
from collections.abc import Iterable

from django.db import transaction

from migrations_app.journeys.next_move import APPROVAL_TAKEN_BACK
from migrations_app.models.journey import Journey, JourneyApproval
from migrations_app.queries.journeys.journeys import approvals_needed
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.journeys.lifecycle import planned, withdraw_planned
from migrations_app.use_cases.journeys.transitions import JourneyEvent, load, move, store
from migrations_app.use_cases.rollouts.approvals import CarriedApproval


def carry_to_journey(
    journey_id: uuid.UUID, approvals: Iterable[CarriedApproval], *, source: str, by: Actor
) -> Journey:  # A40, A42
    """Gives a journey that was asked for these approvals; it is approved if they are enough by the policy of now.

    One that showed no plan needs none of them, but what is planned on its way does. The caller has compared the
    journey with what was approved. `source` names it. The author's own is left out.
    """
    with transaction.atomic():
        here = load(journey_id, lock=True)
        row = here.row
        if row.state not in ("awaiting_approval", "approved"):
            return row
        for approval in approvals:
            if approval.approver_id in (None, row.author_id):
                continue
            columns = {"approver_name": approval.approver_name, "digest": row.digest, "nonce": row.nonce}
            JourneyApproval.objects.create(
                journey=row, approver_id=approval.approver_id, step_up=approval.step_up, reason=source, **columns
            )
            words = f"{source}, approved by {approval.approver_name}"
            event = JourneyEvent(verb="journey.yes", by=by, code="carried", words=words)
            store(here, here.progress, event=event)
        if row.state == "awaiting_approval" and row.approvals.count() >= approvals_needed(row, here.plan):
            move(here, "approved", event=JourneyEvent(verb="journey.approved", by=by))
    return here.row


def take_back_from_journeys(journeys: Iterable[uuid.UUID], approver_id: int, *, by: Actor) -> None:
    """Takes the approval of that person away from journeys that did not end: their next step waits for another one.

    What was planned with it and not started is planned anew, so that nothing begins by an approval that does not count.
    """
    for pk in journeys:
        with transaction.atomic():
            here = load(pk, lock=True)
            if here.row.finished_at is None and here.row.approvals.filter(approver_id=approver_id).delete()[0]:
                rollout = planned(here)
                if rollout is not None and rollout.approvals.filter(approver_id=approver_id).exists():
                    withdraw_planned(here, APPROVAL_TAKEN_BACK)
                store(here, here.progress, event=JourneyEvent(verb="journey.yes_taken_back", by=by, code="taken_back"))
