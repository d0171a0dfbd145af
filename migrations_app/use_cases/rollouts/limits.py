"""The limits of a running rollout: rights, policy, grace period and deletions per hour (A05, A33, A41)."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.states import GATE
from migrations_app.execution.interface import COUNTED_VERB, HOUR, RolloutHalted, hourly_wait_text
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.use_cases.accounts.rights import rights_of_account
from migrations_app.use_cases.rollouts.start_checks import why_closed


def refuse_batch(row: Rollout) -> None:
    """Raises RolloutHalted `right_gone`, or `closed` by a freeze or change window."""
    refuse_without_right(row)
    if why := why_closed(row):
        raise RolloutHalted("closed", why)


def refuse_without_right(row: Rollout) -> None:
    """Raises RolloutHalted `right_gone` if the person who started the rollout may no longer do so (A41)."""
    name = row.started_by_name
    if name and not {"operate", "administer"} & rights_of_account(name, row.cluster_id):
        raise RolloutHalted(
            "right_gone", f"{name}, who started it, lacks the permission now; another person can resume it"
        )


def grace_period_text(row: Rollout) -> str:
    """Text of the grace period after the start, in which nothing is sent so that the start can be cancelled; empty if
    it is over.
    """
    began = row.started_at
    if began is None or timezone.now() >= began + timedelta(seconds=settings.ENV.cancel_seconds):
        return ""
    if Attempt.objects.filter(rollout=row).exclude(verb=GATE).exists():  # steps without a request pass their gate
        return ""
    return f"{settings.ENV.cancel_seconds} seconds, in which it can still be cancelled"


def hourly_limit_text(row: Rollout, plan: Plan, *, step: Step) -> str:
    """Text of what the hourly limit of deletions waits for; empty if nothing."""
    if step.change is None or step.change.verb != COUNTED_VERB:
        return ""
    most = plan.limits.per_hour
    lately = Attempt.objects.filter(
        rollout__cluster_id__in=registrations_of(row.cluster_id),
        verb=COUNTED_VERB,
        outcome__in=(Attempt.Outcome.OPEN, Attempt.Outcome.UNKNOWN, Attempt.Outcome.APPLIED),
        intent_at__gt=Now() - HOUR,
    ).count()
    return hourly_wait_text(lately, most)
