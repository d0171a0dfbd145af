"""Before the next request: may it be sent now, by the clock, the policy and the limits of the plan (A05, A33)."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions.plan import Step
from migrations_app.actions.progress import begins_batch
from migrations_app.clients.writer import Writer
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Work
from migrations_app.flow.people import named_over
from migrations_app.flow.policy import closed, policy_of
from migrations_app.models.rollout import Attempt

HOUR = timedelta(hours=1)
COUNTED = "delete"
"""What the hourly limit counts: deletions cost capacity, and nothing brings back what they took."""


def held_back(work: Work, writer: Writer, *, step: Step) -> str:
    """What to wait for before the step's request may be sent, in words; empty when it may.

    At the first step of a batch it raises Halt, too: `other_cluster`, `right_gone`, and `closed` by a freeze or the
    change windows.
    """
    if left := _cancellable(work):
        return left
    if begins_batch(work.plan, step):
        refuse_other_cluster(work, writer)
        _refuse_without_right(work)
        if why := closed(policy_of(work.row.cluster_id), work.row.action, now=timezone.now()):
            raise Halt("closed", why)
    return _over_the_hour(work, step)


def refuse_other_cluster(work: Work, writer: Writer) -> None:
    """Raises Halt when another cluster answers than the one that was planned for (A05, T17)."""
    if writer.identity() != work.plan.identity:
        raise Halt("other_cluster", "another cluster answers under this name", state="needs_attention")


def _refuse_without_right(work: Work) -> None:
    """Raises Halt when whoever started it may not start anything on this cluster any more (A41)."""
    name = work.row.started_by_name
    if name and not {"operate", "administer"} & named_over(name, work.row.cluster_id):
        raise Halt("right_gone", f"{name}, who started it, may not do so any more; somebody else can resume it")


def _cancellable(work: Work) -> str:
    """The seconds in which whoever started it by mistake can stop it before anything is sent."""
    began = work.row.started_at
    if began is None or timezone.now() >= began + timedelta(seconds=settings.ENV.cancel_seconds):
        return ""
    if Attempt.objects.filter(rollout=work.row).exists():
        return ""
    return f"{settings.ENV.cancel_seconds} seconds, in which it can still be cancelled"


def _over_the_hour(work: Work, step: Step) -> str:
    if step.change is None or step.change.verb != COUNTED:
        return ""
    most = work.plan.limits.per_hour
    lately = Attempt.objects.filter(
        rollout__cluster_id=work.row.cluster_id,
        verb=COUNTED,
        outcome__in=(Attempt.Outcome.OPEN, Attempt.Outcome.UNKNOWN, Attempt.Outcome.APPLIED),
        intent_at__gt=Now() - HOUR,
    ).count()
    return f"the next hour: {lately} deletions of at most {most} an hour are done" if lately >= most else ""
