"""Carries out one step of a plan as one request, each recorded before and after it is sent (A17-A21).

Before: clock, policy and hourly limit allow it (A05, A33). After: an unknown outcome is settled by reading the object,
never by sending the request again (A22).
"""

import time
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions.conditions import Exists, Tree, all_hold, holds, projected, value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.request import ObjectVersion, completed, digest_of, marks
from migrations_app.actions.states import SKIP, Position, begins_batch
from migrations_app.clients.kubernetes.api import Writer, WriteResult
from migrations_app.errors import InvalidInput, ReadError
from migrations_app.models.rollout import Attempt
from migrations_app.queries.cluster.identity import registrations_of
from migrations_app.use_cases.accounts.rights import named_over
from migrations_app.use_cases.rollouts import journal, lease
from migrations_app.use_cases.rollouts.attempts import RolloutHalted
from migrations_app.use_cases.rollouts.gates import note_baseline
from migrations_app.use_cases.rollouts.journal import ExecutionContext, Intent, Outcome, report_waiting
from migrations_app.use_cases.rollouts.lease import LeaseLost
from migrations_app.use_cases.rollouts.start_checks import closed_anywhere

HOUR = timedelta(hours=1)
COUNTED = "delete"
"""The verb that the hourly limit counts: deletions cost capacity and cannot be undone."""


def reason_to_wait(work: ExecutionContext, writer: Writer, *, step: Step) -> str:
    """What to wait for before the step's request may be sent, in words; empty if it may be sent.

    At the first step of a batch it raises RolloutHalted: `other_cluster`, `right_gone`, or `closed` by a freeze or
    change window.
    """
    if left := _cancellable(work):
        return left
    if begins_batch(work.plan, step):
        refuse_other_cluster(work, writer)
        _refuse_without_right(work)
        if why := closed_anywhere(work.row):
            raise RolloutHalted("closed", why)
    return _over_the_hour(work, step)


def refuse_other_cluster(work: ExecutionContext, writer: Writer) -> None:
    """Raises RolloutHalted `other_cluster` if the API server is not that of the planned cluster (A05, T17)."""
    if writer.identity() != work.plan.identity:
        raise RolloutHalted("other_cluster", "another cluster answers under this name", state="needs_attention")


def _refuse_without_right(work: ExecutionContext) -> None:
    """Raises RolloutHalted `right_gone` if the person who started it may no longer do so (A41)."""
    name = work.row.started_by_name
    if name and not {"operate", "administer"} & named_over(name, work.row.cluster_id):
        raise RolloutHalted(
            "right_gone", f"{name}, who started it, may not do so any more; somebody else can resume it"
        )


def _cancellable(work: ExecutionContext) -> str:
    """The grace period after the start in which nothing is sent, so that a start by mistake can be cancelled."""
    began = work.row.started_at
    if began is None or timezone.now() >= began + timedelta(seconds=settings.ENV.cancel_seconds):
        return ""
    if Attempt.objects.filter(rollout=work.row).exists():
        return ""
    return f"{settings.ENV.cancel_seconds} seconds, in which it can still be cancelled"


def _over_the_hour(work: ExecutionContext, step: Step) -> str:
    if step.change is None or step.change.verb != COUNTED:
        return ""
    most = work.plan.limits.per_hour
    lately = Attempt.objects.filter(
        rollout__cluster_id__in=registrations_of(work.row.cluster_id),
        verb=COUNTED,
        outcome__in=(Attempt.Outcome.OPEN, Attempt.Outcome.UNKNOWN, Attempt.Outcome.APPLIED),
        intent_at__gt=Now() - HOUR,
    ).count()
    return f"the next hour: {lately} deletions of at most {most} an hour are done" if lately >= most else ""


CONFLICTS = 5
"""How often a step is tried again after a concurrent write to its object (A18)."""
DEADLINE_SECONDS = 30.0
SPARE_SECONDS = 5.0
LONGEST_PAUSE = 30.0


def make_request(work: ExecutionContext, writer: Writer, *, here: Position) -> bool:
    """Carries out the step's next request. True if there was progress.

    1. Wait, or halt, if the clock, the policy or the limits do not allow it.
    2. Store the baseline of the batch, and read the object.
    3. If it already has the step's result, record that without a request.
    4. If it or an object that the request was computed from changed since the preview, skip the step or halt.
    5. Renew the lease if it is shorter than the request's deadline, commit the intent, and send the request once.
    6. Commit the outcome (A21).

    Raises RolloutHalted, LeaseLost, StopRequested, ReadError.
    """
    step, change = here.step, here.step.change
    if change is None:
        return False
    if words := reason_to_wait(work, writer, step=step):
        return report_waiting(work, words)
    note_baseline(work, writer, step=step)
    read = writer.read(change.target)
    if all_hold(step.brings, read, uid=change.target.uid):
        _pass_over(work, here=here, read=read)
        return True
    if why := _changed(step, read) or _moved_source(step, writer):
        return _left_out(work, step, why=why)
    _refuse_endless(work, here)
    return _requested(work, writer, here=here, tie=ObjectVersion.to(read))


def _requested(work: ExecutionContext, writer: Writer, *, here: Position, tie: ObjectVersion) -> bool:
    step, change = here.step, here.step.change
    if change is None:
        raise AssertionError("a step without a change sends nothing")
    body = completed(change, tie, own=_own(work))
    _outlived(work)
    journal.reached("before_intent")
    intent = journal.record_intent(work, step, change=change, tie=tie, body_digest=digest_of(body))
    began = time.monotonic()
    journal.reached("after_intent")
    if time.monotonic() - began > SPARE_SECONDS:
        # The process was suspended after the intent: another worker may be settling it. Nothing was sent yet.
        raise LeaseLost("the worker stood still between the intent and its request")
    sent = _sent(work, writer, here=here, tie=tie, intent=intent)
    journal.reached("after_send")
    return _concluded(work, step, sent=sent, intent=intent)


def _own(work: ExecutionContext) -> dict[str, str]:
    return marks(str(work.row.pk), work.row.digest)


def _sent(
    work: ExecutionContext, writer: Writer, *, here: Position, tie: ObjectVersion, intent: Intent
) -> WriteResult | ReadError | InvalidInput:
    if here.step.change is None:
        raise AssertionError("a step without a change sends nothing")
    purpose = f"action={work.row.pk} step={here.step.id} attempt={intent.number}"
    try:
        return writer.send(here.step.change, tie, own=_own(work), purpose=purpose)
    except (ReadError, InvalidInput) as silence:
        return silence


def _pass_over(work: ExecutionContext, *, here: Position, read: Tree | None) -> None:
    """Records that the result is there already: `applied` if an earlier request may have caused it (A25)."""
    step, change = here.step, here.step.change
    if change is None:
        return
    ours = holds(Exists(marks=_own(work)), read) if change.verb == "create" else here.in_doubt
    if ours:
        reason, outcome = "an earlier request came through after all", Attempt.Outcome.APPLIED
    else:
        reason, outcome = "it was so already", Attempt.Outcome.NOOP
    journal.record_skipped(work, step, verb=change.verb, reason=reason, outcome=outcome)


def _left_out(work: ExecutionContext, step: Step, *, why: str) -> bool:
    """Skips the step if it may be skipped; else raises RolloutHalted (A17, R21, R22)."""
    if not step.skippable:
        raise RolloutHalted("changed", why)
    journal.record_skipped(work, step, verb=SKIP, reason=f"left out: {why}")
    return True


def _changed(step: Step, read: Tree | None) -> str:
    """How the object differs from the one that was planned for, in words; empty if it does not (A17, R21, R22)."""
    target = step.change.target if step.change else None
    if target is None:
        return ""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    if target.uid and uid != target.uid:
        what = "is gone" if read is None else "was made anew under its name"
        return f"{target.said} {what} since the preview"
    return "" if projected(read, step.rests_on) == step.digest else f"{target.said} was changed since the preview"


def _moved_source(step: Step, writer: Writer) -> str:
    """Which object that the request was computed from is not as it was at the preview, in words; empty if none."""
    told = (source.difference(writer.read(source.target)) for source in step.computed_from)
    why = next((words for words in told if words), "")
    return f"{why} since the preview, and the request was computed from it: make a new preview" if why else ""


def _refuse_endless(work: ExecutionContext, here: Position) -> None:
    """Raises RolloutHalted after CONFLICTS refusals of the step, with the cause of the last one."""
    if here.refusals < CONFLICTS:
        return
    last = Attempt.objects.filter(rollout=work.row, step=here.step.id).latest("pk")
    words = {
        429: ("overloaded", "the API server asks to wait again and again"),
        404: ("refused_404", last.reason or "the API server knows no such place"),
    }
    code, why = words.get(last.status or 0, ("contended", "somebody else keeps writing to the object"))
    raise RolloutHalted(code, f"{here.step.title}: {why}")


def _outlived(work: ExecutionContext) -> None:
    """Raises LeaseLost unless the lease outlives the request's deadline (A20)."""
    if not lease.lasts(work.fence, DEADLINE_SECONDS + SPARE_SECONDS) and not lease.renew(work.fence):
        raise LeaseLost("the lease is over")


def _concluded(
    work: ExecutionContext, step: Step, *, sent: WriteResult | ReadError | InvalidInput, intent: Intent
) -> bool:
    journal.reached("before_outcome")
    if isinstance(sent, InvalidInput):
        journal.record_outcome(work, intent.attempt_id, told=Outcome(outcome="refused", reason=sent.message))
        raise RolloutHalted(sent.code, f"{step.title}: {sent.message}")
    if isinstance(sent, ReadError):
        journal.record_outcome(work, intent.attempt_id, told=Outcome(outcome="unknown", reason=sent.message))
        return True
    word = "applied" if sent.done else "unknown" if sent.in_doubt else "refused"
    told = Outcome(
        outcome=word,
        status=sent.status,
        reason=sent.message or sent.reason,
        audit_id=sent.audit_id,
        uid=sent.uid,
        resource_version=sent.resource_version,
    )
    journal.record_outcome(work, intent.attempt_id, told=told)
    journal.reached("after_outcome")
    if word == "refused":
        _refused(step, sent)
    return True


def _refused(step: Step, sent: WriteResult) -> None:
    """Temporary refusals are retried; any other raises RolloutHalted with the server's message."""
    if sent.conflicts:
        raise RolloutHalted("field_conflict", f"{step.title}: fields are kept by {', '.join(sent.conflicts)}")
    if sent.status in (404, 409):
        return
    if sent.status == 429:
        time.sleep(min(sent.retry_after or 1.0, LONGEST_PAUSE))
        return
    raise RolloutHalted(f"refused_{sent.status}", f"{step.title}: {sent.message or sent.reason}")


BY = "read"


def settle(work: ExecutionContext, writer: Writer, *, here: Position) -> bool:
    """Settles a request with an unknown outcome by reading its object. False while it is too early to tell.

    1. The object has the step's result: `applied`.
    2. The request may still arrive (deadline and settling time not over): wait.
    3. The object is unchanged: `not_applied`; the step is tried again.
    4. Otherwise: `changed_by_other`, and the rollout halts.

    Raises RolloutHalted, LeaseLost, ReadError.
    """
    line = here.open
    if not isinstance(line, Attempt) or here.step.change is None:
        return False
    read = writer.read(here.step.change.target)
    if all_hold(here.step.brings, read, uid=here.step.change.target.uid):
        return _brought(work, line, read=read)
    if not _late(line):
        return report_waiting(work, f"the outcome of the last request ({here.step.title})")
    if _untouched(here, line, read=read):
        return _settle_concluded(work, line, outcome="not_applied", reason="untouched afterwards")
    _settle_concluded(work, line, outcome="changed_by_other", reason="changed meanwhile")
    raise RolloutHalted(
        "changed_by_other", f"{here.step.title}: the outcome is not known, and the object was changed meanwhile"
    )


def _brought(work: ExecutionContext, line: Attempt, *, read: Tree | None) -> bool:
    """The result is there; but a new object without the rollout's marks was created by someone else (A23)."""
    made = line.uid or holds(Exists(marks=marks(str(work.row.pk), work.row.digest)), read)
    if not made:
        return _settle_concluded(work, line, outcome="not_applied", reason="somebody else has made it")
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return _settle_concluded(work, line, outcome="applied", reason="seen afterwards", uid=uid)


def _settle_concluded(work: ExecutionContext, line: Attempt, *, outcome: str, reason: str, uid: str = "") -> bool:
    told = Outcome(outcome=outcome, reason=reason, uid=uid, settled_by=BY, status=line.status, audit_id=line.audit_id)
    journal.record_outcome(work, line.pk, told=told)
    return True


def _late(line: Attempt) -> bool:
    """Whether the request can no longer arrive, by the database's clock (R18)."""
    patience = timedelta(seconds=DEADLINE_SECONDS + settings.ENV.settle_seconds)
    return Attempt.objects.filter(pk=line.pk, intent_at__lte=Now() - patience).exists()


def _untouched(here: Position, line: Attempt, *, read: Tree | None) -> bool:
    """Whether the object is as it was before the request, at least in the fields that the step depends on."""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return uid == line.uid and projected(read, here.step.rests_on) == here.step.digest
