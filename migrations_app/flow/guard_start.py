"""What has to hold before a rollout begins, and before each time it begins again (A10, A36, A41, A55)."""

import uuid

from django.utils import timezone

from migrations_app.access import Person, holds_yes, may_start
from migrations_app.actions.states import HOLDING
from migrations_app.errors import Conflict
from migrations_app.flow.people import over
from migrations_app.flow.policy import closed, policy_of
from migrations_app.flow.record import assert_writable
from migrations_app.flow.transition import found
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.policies import everything_stopped, needed
from migrations_app.queries.standing import rights_over


def refuse_late(row: Rollout) -> None:
    """Raises Conflict `expired` for a plan that is too old."""
    if row.expires_at <= timezone.now():
        raise Conflict("the plan is too old; make a new preview", code="expired")


def refuse_moved(row: Rollout, version: int | None) -> None:
    """Raises Conflict `moved` when the row is not at the version that somebody looked at (R33)."""
    if version is not None and row.version != version:
        raise Conflict(f"the rollout moved meanwhile: it is {row.state.replace('_', ' ')} now", code="moved")


def refuse_start(row: Rollout, person: Person) -> None:
    """Raises Conflict: `kill_switch`, `audit_blocked`, `policy_moved`, `closed`, `approval_missing`.

    `person` starts it: whoever owns the token that starts it counts as no approver (A42).
    """
    if everything_stopped():
        raise Conflict("everything that changes clusters is stopped", code="kill_switch")
    assert_writable()
    policy = policy_of(row.cluster_id)
    if policy.version != row.policy_version:
        raise Conflict("the policy of the cluster was changed since the plan was made", code="policy_moved")
    if why := closed(policy, row.action, now=timezone.now()):
        raise Conflict(why, code="closed")
    _refuse_unapproved(row, starter=person)


def _refuse_unapproved(row: Rollout, *, starter: Person) -> None:
    given = [one for one in row.approvals.select_related("approver") if _counts(row, one, starter=starter)]
    if any(one.break_glass for one in given):
        return
    if len(given) < needed(row):
        raise Conflict(f"{len(given)} of {needed(row)} approvals hold", code="approval_missing")


def _counts(row: Rollout, one: Approval, *, starter: Person) -> bool:
    """Whether the yes is to this very plan and its giver may still give it."""
    person = one.approver
    if person is None or not person.is_active or one.digest != row.digest or one.nonce != row.nonce:
        return False
    if starter.method == "token" and person.pk == starter.id:
        return False
    return holds_yes(rights_over(person, row.cluster_id), alone=one.break_glass)


def why_not_start(rollout_id: uuid.UUID, person: Person) -> str:
    """What keeps it from beginning now, in words for the button; empty when nothing does."""
    row = found(rollout_id)
    refusal = may_start(over(person, row.cluster_id))
    if refusal is not None:
        return refusal.why
    try:
        if row.state == "approved":
            refuse_late(row)
        refuse_start(row, person)
    except Conflict as wrong:
        return wrong.message
    aside = [pk for pk in (row.pk, row.rolls_back_id) if pk]
    other = Rollout.objects.filter(cluster_id=row.cluster_id, state__in=sorted(HOLDING)).exclude(pk__in=aside).first()
    return f"another rollout holds this cluster: {other.title}" if other else ""
