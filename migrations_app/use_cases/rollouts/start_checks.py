"""Conditions for the start or resume of a rollout, such as policy and approvals (A10, A33, A36, A41, A55)."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.utils import timezone

from migrations_app.access import Person, approval_still_valid, may_start
from migrations_app.actions import windows
from migrations_app.actions.plan import LIFETIME_SECONDS, Plan
from migrations_app.actions.registry import find
from migrations_app.actions.states import HOLDING, WORKING
from migrations_app.errors import Conflict
from migrations_app.journeys.disruption_hold import HOLD
from migrations_app.karpenter.detection import image_release
from migrations_app.karpenter.versions import Release, parse
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import JourneyHold
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.models.scan import Snapshot
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.journeys.cluster_holder import holding_journey, is_part_of
from migrations_app.queries.rehearsals.requirement import why_unrehearsed
from migrations_app.queries.rollouts.policies import (
    CONTROLLER_UPGRADES_OFF,
    NEVER_ALONE,
    approvals_needed,
    approvals_required,
    everything_stopped,
    has_no_action_workers,
    policy_of,
)
from migrations_app.queries.rollouts.rollouts import holder_elsewhere
from migrations_app.queries.visibility import has_scope, rights_over, visible_clusters
from migrations_app.readiness.action_offers import LOOKS_ONLY
from migrations_app.use_cases.accounts.rights import person_over_cluster
from migrations_app.use_cases.audit.log import assert_writable
from migrations_app.use_cases.rollouts.transitions import require_rollout

__all__ = ["NEVER_ALONE", "approvals_required", "policy_of", "why_not_allowed"]


def why_not_allowed(policy: Policy, action: str, *, now: datetime) -> str:
    """Text of why the policy does not allow the action now; empty if it does."""
    if policy.frozen:
        return f"changes are frozen: {policy.frozen_why or 'no reason given'}"
    if "*" not in policy.actions and action not in policy.actions:
        return f"the policy of this cluster does not allow {action}"
    if not windows.any_open(policy.windows, now):
        return "outside of the change windows"
    return ""


def refuse_expired(row: Rollout) -> None:
    """Raises Conflict `expired` for an expired plan."""
    if row.expires_at <= timezone.now():
        raise Conflict("the plan is too old; make a new preview", code="expired")


def refuse_other_release(row: Rollout) -> None:
    """Raises Conflict `release_changed` if the newest scan since the preview found another release of the controller.
    Without such a scan, or if it could not tell, the worker looks itself before the first request."""
    previewed_at = row.expires_at - timedelta(seconds=LIFETIME_SECONDS)
    scans = Snapshot.objects.filter(cluster_id=row.cluster_id, replaced=False, scanned_at__gt=previewed_at)
    seen = scans.order_by("-scanned_at", "-pk").values_list("karpenter_version", flat=True).first()
    release = parse(seen or "")
    if release is None:
        return
    plan = msgspec.json.decode(bytes(row.plan), type=Plan)
    planned = {image_release(controller.image) for controller in plan.controllers or ()}
    if planned and None not in planned and release not in planned:
        words = f"Karpenter {release} runs by now; the preview was made with {_releases(planned)}: make a new preview"
        raise Conflict(words, code="release_changed")


def _releases(planned: Iterable[Release | None]) -> str:
    return " and ".join(sorted(str(release) for release in planned))


def refuse_moved(row: Rollout, version: int | None) -> None:
    """Raises Conflict `moved` if the row is no longer at the version that the caller saw (R33)."""
    if version is not None and row.version != version:
        raise Conflict(f"the rollout was changed meanwhile: it is {row.state.replace('_', ' ')} now", code="moved")


def refuse_without_action_workers() -> None:
    """Raises Conflict `read_only` if there is no worker of the action queue, which would make the plan."""
    if has_no_action_workers():
        raise Conflict(LOOKS_ONLY, code="read_only")


def refuse_changes() -> None:
    """Raises Conflict: `kill_switch`, or `audit_blocked` while the audit log cannot be delivered to its sinks."""
    if everything_stopped():
        raise Conflict("the kill switch is on: all changes are stopped", code="kill_switch")
    assert_writable()


def refuse_start(row: Rollout, person: Person) -> None:
    """Raises Conflict: `kill_switch`, `audit_blocked`, `policy_moved`, `closed`, `rehearsal_missing`,
    `approval_missing`. `person` starts the rollout. If a token starts it, neither the token's owner (A42) nor the
    person who created its service account counts as an approver.
    """
    refuse_changes()
    policy = policy_of(row.cluster_id)
    if policy.version != row.policy_version:
        raise Conflict("the policy of the cluster was changed since the plan was made", code="policy_moved")
    if why := why_closed(row):
        raise Conflict(why, code="closed")
    _refuse_switched_off(row)
    refuse_unrehearsed(row)
    _refuse_unapproved(row, starter=person)


def _refuse_switched_off(row: Rollout) -> None:
    """Raises Conflict `closed` for a change of the controller's version or its rollback while these are switched off.

    The actions that run Helm check this again at each run.
    """
    action = find(row.rolls_back.action if row.rolls_back else row.action)
    if action is not None and action.needs_edits and not settings.ENV.controller_upgrades:
        raise Conflict(CONTROLLER_UPGRADES_OFF, code="closed")


def refuse_unrehearsed(row: Rollout) -> None:
    """Raises Conflict `rehearsal_missing` if the policy requires a rehearsal and exactly this plan has none (A46)."""
    if why := why_unrehearsed(row):
        raise Conflict(why, code="rehearsal_missing")


def why_closed(row: Rollout) -> str:
    """Text of why a policy does not allow the rollout now; empty if all do.

    A cluster that is registered twice is under the policies of both registrations.
    """
    now = timezone.now()
    for cluster_id in registrations_of(row.cluster_id):
        if why := why_not_allowed(policy_of(cluster_id), row.action, now=now):
            return why if cluster_id == row.cluster_id else f"{why} (by the policy of {_registration(cluster_id)})"
    return ""


def refuse_held_elsewhere(row: Rollout) -> None:
    """Raises Conflict `busy` if a rollout holds the same cluster through another registration (A13)."""
    if words := _why_held_elsewhere(row):
        raise Conflict(words, code="busy")


def refuse_parallel_rollout(row: Rollout) -> None:
    """Raises Conflict `busy` for a rollout while a hold or release of a pause runs, and for a hold or release while
    another rollout works.
    """
    if words := _pause_conflict(row):
        raise Conflict(words, code="busy")


def _pause_conflict(row: Rollout) -> str:
    states = WORKING if row.beside else HOLDING
    if not row.beside and JourneyHold.objects.filter(journey__steps__made__rollout=row).exists():
        return "Karpenter's own disruption is held: resume the upgrade, which restores the budgets first"
    others = Rollout.objects.filter(cluster_id=row.cluster_id, state__in=sorted(states)).exclude(pk=row.pk)
    other = others.filter(beside=not row.beside).first()
    return f"rollout {other.pk} is {other.state.replace('_', ' ')} on this cluster" if other else ""


def refuse_held_by_journey(row: Rollout) -> None:
    """Raises Conflict `busy` if a journey holds the cluster, unless it made the rollout or the one that is
    rolled back.
    """
    if words := _why_held_by_journey(row):
        raise Conflict(words, code="busy")


def _why_held_by_journey(row: Rollout) -> str:
    journey = holding_journey(row.cluster_id)
    if journey is None or is_part_of(row, journey):
        return ""
    if row.action == HOLD:
        return f"journey {journey.pk} holds this cluster: hold Karpenter's own disruption there, which restores it too"
    if row.beside and journey.state == "paused":
        return ""
    return f"journey {journey.pk} holds this cluster"


def _why_held_elsewhere(row: Rollout) -> str:
    other = holder_elsewhere(row)
    if other is None:
        return ""
    named = bool(_shown_name(other.cluster_id))
    which, asks = (f"rollout {other.pk}", "") if named else ("a rollout", "ask an administrator to ")
    return (
        f"{which} of {_registration(other.cluster_id)} holds this cluster: both registrations have the same uid of "
        f"kube-system. Wait for it, or {asks}join or remove one of them; if they are two clusters, the one that claims "
        "the uid of the other has to be removed"
    )


def _registration(cluster_id: uuid.UUID) -> str:
    if name := _shown_name(cluster_id):
        return f"the registration {name}"
    return "a registration that you may not see" if has_scope() else "another registration of this cluster"


def _shown_name(cluster_id: uuid.UUID) -> str:
    """The name of a registration that the caller may see; else empty. A worker has no caller, and stores its texts for
    everyone who sees the cluster of the rollout: they name no other registration (T11).
    """
    rows = visible_clusters().filter(pk=cluster_id) if has_scope() else Cluster.objects.none()
    return rows.values_list("name", flat=True).first() or ""


def _refuse_unapproved(row: Rollout, *, starter: Person) -> None:
    approvals = [
        approval for approval in row.approvals.select_related("approver") if _counts(row, approval, starter=starter)
    ]
    if any(approval.break_glass for approval in approvals):
        return
    if len(approvals) < approvals_needed(row):
        raise Conflict(f"{len(approvals)} of {approvals_needed(row)} approvals are valid", code="approval_missing")


def _counts(row: Rollout, approval: Approval, *, starter: Person) -> bool:
    """Whether the approval is for exactly this plan and its approver still has the right to approve."""
    person = approval.approver
    if person is None or not person.is_active or approval.digest != row.digest or approval.nonce != row.nonce:
        return False
    if starter.method == "token" and person.pk in {starter.id, *makers_of(starter.id)}:
        return False
    return approval_still_valid(rights_over(person, row.cluster_id), alone=approval.break_glass)


def why_not_approve(rollout_id: uuid.UUID) -> str:
    """Text of why the plan cannot be approved without a rehearsal, for the button; empty if it can."""
    return why_unrehearsed(require_rollout(rollout_id))


def why_not_start(rollout_id: uuid.UUID, person: Person) -> str:
    """Text of why the rollout cannot start now, for the button; empty if it can."""
    row = require_rollout(rollout_id)
    refusal = may_start(person_over_cluster(person, row.cluster_id))
    if refusal is not None:
        return refusal.why
    try:
        if row.state == "approved":
            refuse_expired(row)
            refuse_other_release(row)
        refuse_start(row, person)
    except Conflict as wrong:
        return wrong.message
    aside = [pk for pk in (row.pk, row.rolls_back_id) if pk]
    others = Rollout.objects.filter(cluster_id=row.cluster_id, state__in=sorted(HOLDING), beside=row.beside)
    other = others.exclude(pk__in=aside).first()
    if other is not None:
        return f"another rollout holds this cluster: {other.title}"
    return _pause_conflict(row) or _why_held_elsewhere(row) or _why_held_by_journey(row)
