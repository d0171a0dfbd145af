"""One step of a plan as one request: read, compare, write down, send once, write down what came of it (A17-A21)."""

import time

from migrations_app.actions.conditions import Exists, Tree, all_hold, holds, projected, value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.progress import SKIP, Place
from migrations_app.actions.sending import Tie, completed, digest_of, marks
from migrations_app.clients.writer import Sent, Writer
from migrations_app.errors import BadInput, CouldNotLook
from migrations_app.flow import crash_points, journal, lease
from migrations_app.flow.baseline import note_baseline
from migrations_app.flow.begin_batch import held_back
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Intent, Outcome, Work
from migrations_app.flow.lease import Lost
from migrations_app.flow.waiting import wait_for
from migrations_app.models.rollout import Attempt

CONFLICTS = 5
"""How often a step is tried anew after somebody else wrote in between (A18)."""
DEADLINE_SECONDS = 30.0
SPARE_SECONDS = 5.0
LONGEST_PAUSE = 30.0


def make_request(work: Work, writer: Writer, *, here: Place) -> bool:
    """Brings the step one request further. True when something moved. Raises Halt, Lost, Stopped, CouldNotLook."""
    step, change = here.step, here.step.change
    if change is None:
        return False
    if words := held_back(work, writer, step=step):
        return wait_for(work, words)
    note_baseline(work, writer, step=step)
    read = writer.read(change.target)
    if all_hold(step.brings, read, uid=change.target.uid):
        _pass_over(work, here=here, read=read)
        return True
    if why := _changed(step, read):
        return _left_out(work, step, why=why)
    _refuse_endless(work, here)
    return _requested(work, writer, here=here, tie=Tie.to(read))


def _requested(work: Work, writer: Writer, *, here: Place, tie: Tie) -> bool:
    step, change = here.step, here.step.change
    if change is None:
        raise AssertionError("a step without a change sends nothing")
    body = completed(change, tie, own=_own(work))
    _outlived(work)
    crash_points.reached("before_intent")
    intent = journal.intend(work, step, change=change, tie=tie, body_digest=digest_of(body))
    began = time.monotonic()
    crash_points.reached("after_intent")
    if time.monotonic() - began > SPARE_SECONDS:
        # Stopped for a while since the intent: somebody else may be about to settle it, and nothing was sent yet.
        raise Lost("the worker stood still between the intent and its request")
    sent = _sent(work, writer, here=here, tie=tie, intent=intent)
    crash_points.reached("after_send")
    return _concluded(work, step, sent=sent, intent=intent)


def _own(work: Work) -> dict[str, str]:
    return marks(str(work.row.pk), work.row.digest)


def _sent(work: Work, writer: Writer, *, here: Place, tie: Tie, intent: Intent) -> Sent | CouldNotLook | BadInput:
    if here.step.change is None:
        raise AssertionError("a step without a change sends nothing")
    purpose = f"action={work.row.pk} step={here.step.id} attempt={intent.number}"
    try:
        return writer.send(here.step.change, tie, own=_own(work), purpose=purpose)
    except (CouldNotLook, BadInput) as silence:
        return silence


def _pass_over(work: Work, *, here: Place, read: Tree | None) -> None:
    """It is so already: by us where a request of ours may have come late, or the object carries our marks (A25)."""
    step, change = here.step, here.step.change
    if change is None:
        return
    ours = holds(Exists(marks=_own(work)), read) if change.verb == "create" else here.in_doubt
    if ours:
        reason, outcome = "an earlier request came through after all", Attempt.Outcome.APPLIED
    else:
        reason, outcome = "it was so already", Attempt.Outcome.NOOP
    journal.pass_over(work, step, verb=change.verb, reason=reason, outcome=outcome)


def _left_out(work: Work, step: Step, *, why: str) -> bool:
    """A step that may be skipped is; any other stops the rollout (A17, R21, R22)."""
    if not step.skippable:
        raise Halt("changed", why)
    journal.pass_over(work, step, verb=SKIP, reason=f"left out: {why}")
    return True


def _changed(step: Step, read: Tree | None) -> str:
    """How the object is not the one that was planned for, or not as it was; empty when it is (A17, R21, R22)."""
    target = step.change.target if step.change else None
    if target is None:
        return ""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    if target.uid and uid != target.uid:
        what = "is gone" if read is None else "was made anew under its name"
        return f"{target.said} {what} since the preview"
    return "" if projected(read, step.rests_on) == step.digest else f"{target.said} was changed since the preview"


def _refuse_endless(work: Work, here: Place) -> None:
    """Raises Halt once the same refusal came too often; the last one tells what it is."""
    if here.refusals < CONFLICTS:
        return
    last = Attempt.objects.filter(rollout=work.row, step=here.step.id).latest("pk")
    words = {
        429: ("overloaded", "the API server asks to wait again and again"),
        404: ("refused_404", last.reason or "the API server knows no such place"),
    }
    code, why = words.get(last.status or 0, ("contended", "somebody else keeps writing to the object"))
    raise Halt(code, f"{here.step.title}: {why}")


def _outlived(work: Work) -> None:
    """The lease has to outlive the request's deadline (A20)."""
    if not lease.lasts(work.fence, DEADLINE_SECONDS + SPARE_SECONDS) and not lease.renew(work.fence):
        raise Lost("the lease is over")


def _concluded(work: Work, step: Step, *, sent: Sent | CouldNotLook | BadInput, intent: Intent) -> bool:
    crash_points.reached("before_outcome")
    if isinstance(sent, BadInput):
        journal.conclude(work, intent.attempt_id, told=Outcome(outcome="refused", reason=sent.message))
        raise Halt(sent.code, f"{step.title}: {sent.message}")
    if isinstance(sent, CouldNotLook):
        journal.conclude(work, intent.attempt_id, told=Outcome(outcome="unknown", reason=sent.message))
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
    journal.conclude(work, intent.attempt_id, told=told)
    crash_points.reached("after_outcome")
    if word == "refused":
        _refused(step, sent)
    return True


def _refused(step: Step, sent: Sent) -> None:
    """What may pass by itself is tried again; everything else calls a person, with the server's own words."""
    if sent.conflicts:
        raise Halt("field_conflict", f"{step.title}: fields are kept by {', '.join(sent.conflicts)}")
    if sent.status in (404, 409):
        return
    if sent.status == 429:
        time.sleep(min(sent.retry_after or 1.0, LONGEST_PAUSE))
        return
    raise Halt(f"refused_{sent.status}", f"{step.title}: {sent.message or sent.reason}")
