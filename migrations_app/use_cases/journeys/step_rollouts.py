"""The rollouts of a journey's steps: planned for the preview and again when the step begins, compared, approved,
started. They have the same protection as all rollouts: their own approvals, policies, kill switch, lease and journal.
"""

import uuid
from datetime import timedelta

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from migrations_app.access import Method, Person, approval_still_valid
from migrations_app.actions.plan import Plan
from migrations_app.errors import Conflict
from migrations_app.journeys.next_move import RolloutFacts
from migrations_app.journeys.outline import Outline, PlanDifference, differences, outline
from migrations_app.journeys.plan import COVER_SECONDS, JourneyPlan, coverable
from migrations_app.models.campaign import CampaignApproval
from migrations_app.models.journey import Journey, JourneyApproval, JourneyRollback, JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rollouts.detail import doubts_of
from migrations_app.queries.rollouts.policies import approvals_needed, risk_of
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.journeys.advance_decisions import destroying_covered, unseen_covered
from migrations_app.use_cases.journeys.transitions import definition
from migrations_app.use_cases.rollouts import approvals, lifecycle
from migrations_app.use_cases.rollouts.approvals import CarriedApproval
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft
from migrations_app.use_cases.rollouts.transitions import TransitionCause, transition

SHOWN_MARK = "shown_in_journey"
"""The cause code of a rollout that was made only for a preview."""


def plan_rollout(row: Journey, step: JourneyStepRow, *, purpose: str) -> uuid.UUID:
    """Creates the draft of a rollout for the step, in the caller's transaction. Its author is the journey's author."""
    journey_step = definition(step)
    author = Actor(name=row.author_name, method="worker", id=row.author_id)
    note = f"step {step.step} of journey {row.pk}"
    request = RolloutRequest(
        action=journey_step.action, parameters=journey_step.parameters, ticket=row.ticket, note=note
    )
    rollout_id = draft(row.cluster_id, request, by=author)
    JourneyRollout.objects.create(step=step, rollout_id=rollout_id, purpose=purpose)
    return rollout_id


def newest_rollout_for(step: JourneyStepRow, *, purpose: str) -> Rollout | None:
    """The newest rollout that was made for the step; None if there is none."""
    part = step.made.filter(purpose=purpose).select_related("rollout").last()
    return part.rollout if part else None


def rollback_for(step: JourneyStepRow) -> Rollout | None:
    """The newest rollout that undoes the step in the current rollback of the journey; None if there is none."""
    current = JourneyRollback.objects.filter(journey_id=step.journey_id).first()
    links = step.made.filter(purpose=JourneyRollout.Purpose.BACK, pk__gt=current.earlier if current else 0)
    part = links.select_related("rollout").last()
    return part.rollout if part else None


def newest_link(journey: Journey) -> int:
    """The key of the newest rollout that was made for a step of the journey; 0 if there is none."""
    newest = JourneyRollout.objects.filter(step__journey=journey).aggregate(newest=Max("pk"))["newest"]
    return newest or 0


def outline_of(row: Rollout) -> Outline | None:
    """The outline of the rollout's plan; None if there is no plan."""
    plan = _plan_of(row)
    return outline(plan, doubts=doubts_of(row, plan)) if plan is not None else None


def _plan_of(row: Rollout) -> Plan | None:
    return msgspec.json.decode(bytes(row.plan), type=Plan) if row.plan else None


def withdraw(row: Rollout, code: str) -> None:
    """Expires a rollout that was planned and not started. Raises Conflict if it was started meanwhile."""
    transition(row, "expired", by=WORKER, cause=TransitionCause(code=code), finished_at=timezone.now())


def rollout_state_of(row: Journey, plan: JourneyPlan, *, step: JourneyStepRow) -> RolloutFacts | None:
    """The state of the rollout that does the step, compared with the preview; None if there is none yet."""
    rollout = newest_rollout_for(step, purpose=JourneyRollout.Purpose.WORK)
    if rollout is None or (step.since and rollout.made_at < step.since):
        return None  # made before the step was retried
    plan_differences = differences_from_preview(plan, rollout, step_id=step.step)
    unseen = step.step not in plan.shown and unseen_covered(row, step, outline=outline_of(rollout))
    deletes = not plan_differences and destroys(row, step, rollout=rollout)
    return RolloutFacts(
        state=rollout.state,
        cause_code=rollout.cause_code,
        differences=plan_differences or (),
        covered=(plan_differences == () or unseen or deletes) and _covers_still(row),
        accepted=step.accepted,
        skipped=tuple(rollout.skips.order_by("step").values_list("node", flat=True)),
        finished_at=rollout.finished_at,
    )


def destroys(row: Journey, step: JourneyStepRow, *, rollout: Rollout) -> bool:
    """Whether the plan is destructive and the approval of the campaign covers that."""
    risk = risk_of(rollout.risk) if rollout.risk else "low"
    return risk == "destructive" and destroying_covered(row, step, outline=outline_of(rollout), plan=_plan_of(rollout))


def differences_from_preview(plan: JourneyPlan, rollout: Rollout, *, step_id: str) -> tuple[PlanDifference, ...] | None:
    """How the plan differs from the previewed one; None if there was no preview of it, or the approval may not cover
    it.
    """
    now, shown_outline = outline_of(rollout), plan.shown.get(step_id)
    if now is None or shown_outline is None:
        return None
    plan_differences = differences(shown_outline, now)
    return plan_differences if plan_differences or coverable(now, limit=plan.covers) else None


def _covers_still(row: Journey) -> bool:
    return row.started_at is not None and timezone.now() - row.started_at < timedelta(seconds=COVER_SECONDS)


def valid_approvals(row: Journey) -> list[JourneyApproval]:
    """The approvals of exactly this plan whose approvers still have the right to approve (A41)."""
    return [approval for approval in row.approvals.select_related("approver") if _counts(row, approval)]


def _counts(row: Journey, approval: JourneyApproval) -> bool:
    person = approval.approver
    if person is None or not person.is_active or approval.digest != row.digest or approval.nonce != row.nonce:
        return False
    if row.started_by_token and person.pk == row.starter_id:
        return False
    return approval_still_valid(rights_over(person, row.cluster_id), alone=False)


def cover(row: Journey, rollout: Rollout, *, step: JourneyStepRow) -> None:
    """Requests approval of the rollout and copies the journey's approvals to it; more approvals may still be needed
    (A40).
    """
    with transaction.atomic():
        asked_rollout = approvals.request_approval(rollout.pk, starter_of(row), by=WORKER)
        if asked_rollout.state == "awaiting_approval":
            deletes = destroys(row, step, rollout=rollout)
            saw = _saw_deletions(row)
            carried = [
                CarriedApproval(
                    approver_id=valid_approval.approver_id,
                    approver_name=valid_approval.approver_name,
                    step_up=valid_approval.step_up,
                )
                for valid_approval in valid_approvals(row)
                if not deletes or valid_approval.approver_id in saw
            ]
            approvals.copy_approvals(asked_rollout, carried, source=f"journey {row.pk}", by=WORKER, deletes=deletes)


def _saw_deletions(row: Journey) -> set[int | None]:
    """The ids of those who approved the campaign, where the deleted objects are shown; the journey's approval does not
    show them.
    """
    campaign_approvals = CampaignApproval.objects.filter(
        campaign__members__journey=row, taken_back_at=None, step_up=True
    )
    same = campaign_approvals.filter(digest=F("campaign__digest"), nonce=F("campaign__nonce"))
    return set(same.values_list("approver_id", flat=True))


def needs_no_approver(rollout: Rollout) -> bool:
    """Whether the policy needs no approver for that plan: then the operator has to accept it."""
    return not approvals_needed(rollout) and not approvals.acknowledgements_needed(rollout)


def request_rollout_approval(row: Journey, rollout: Rollout) -> None:
    """Requests people's approval of the rollout itself."""
    approvals.request_approval(rollout.pk, starter_of(row), by=WORKER)


def start(row: Journey, rollout: Rollout) -> None:
    """Starts the rollout with the rights of the person who started the journey. Raises as `lifecycle.start`."""
    lifecycle.start(rollout.pk, starter_of(row), digest=rollout.digest, by=WORKER, version=rollout.version)


def starter_of(row: Journey) -> Person:
    """The person who started or resumed the journey last, with current rights. Raises Conflict if the account is
    closed.
    """
    user = User.objects.filter(pk=row.starter_id or 0, is_active=True).first()
    if user is None:
        raise Conflict("the account that started the journey is closed", code="starter_gone")
    rights = rights_over(user, row.cluster_id)
    method: Method = "token" if row.started_by_token else "session"
    return Person(id=user.pk, name=user.get_username(), rights=rights, method=method)
