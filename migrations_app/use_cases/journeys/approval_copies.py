"""Copies approvals to a journey, such as those of its campaign, and takes them away again."""

import uuid
from collections.abc import Iterable

from django.db import transaction

from migrations_app.journeys.next_move import APPROVAL_TAKEN_BACK
from migrations_app.models.journey import Journey, JourneyApproval
from migrations_app.queries.journeys.journeys import approvals_needed
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.journeys.lifecycle import planned_rollout, withdraw_planned
from migrations_app.use_cases.journeys.transitions import JourneyEvent, load, move, store
from migrations_app.use_cases.rollouts.approvals import CarriedApproval


def copy_approvals_to_journey(
    journey_id: uuid.UUID, approvals: Iterable[CarriedApproval], *, source: str, by: Actor
) -> Journey:  # A40, A42
    """Copies the approvals to a journey that waits for approval, and approves it if they are enough by the current
    policy. An already approved journey gets them, too: a journey whose preview had no plan needs no approval, but the
    plans of its later steps do. The caller has compared the journey with what was approved. `source` names the origin
    of the approvals. An approval of the journey's own author is left out.
    """
    with transaction.atomic():
        loaded = load(journey_id, lock=True)
        row = loaded.row
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
            store(loaded, loaded.progress, event=event)
        if row.state == "awaiting_approval" and row.approvals.count() >= approvals_needed(row, loaded.plan):
            move(loaded, "approved", event=JourneyEvent(verb="journey.approved", by=by))
    return loaded.row


def withdraw_journey_approvals(journeys: Iterable[uuid.UUID], approver_id: int, *, by: Actor) -> None:
    """Deletes the approvals of that person from journeys that have not ended; their next step waits for another
    approval. A plan that was covered by such an approval and not started is withdrawn, to be planned and approved
    again.
    """
    for pk in journeys:
        with transaction.atomic():
            loaded = load(pk, lock=True)
            if loaded.row.finished_at is None and loaded.row.approvals.filter(approver_id=approver_id).delete()[0]:
                rollout = planned_rollout(loaded)
                if rollout is not None and rollout.approvals.filter(approver_id=approver_id).exists():
                    withdraw_planned(loaded, APPROVAL_TAKEN_BACK)
                store(
                    loaded, loaded.progress, event=JourneyEvent(verb="journey.yes_taken_back", by=by, code="taken_back")
                )
