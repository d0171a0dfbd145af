"""One step of a plan as one request: read, compare, write down, send once, write down what came of it (A17-A21)."""

import time

from migrations_app.actions.conditions import Tree, all_hold, projected, value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.progress import Place
from migrations_app.actions.sending import Tie, completed, digest_of, marks
from migrations_app.clients.writer import Sent, Writer
from migrations_app.errors import CouldNotLook
from migrations_app.flow import crash_points, journal, lease
from migrations_app.flow.baseline import note_baseline
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Intent, Outcome, Work
from migrations_app.flow.lease import Lost

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
    note_baseline(work, writer, step=step)
    read = writer.read(change.target)
    if all_hold(step.brings, read, uid=change.target.uid):
        journal.pass_over(work, step, verb=change.verb, reason="it was so already")
        return True
    _refuse_changed(step, read)
    _refuse_endless(here)
    tie = Tie.to(read)
    own = marks(str(work.row.pk), work.row.digest)
    body = completed(change, tie, own=own)
    _outlived(work)
    crash_points.reached("before_intent")
    intent = journal.intend(work, step, change=change, tie=tie, body_digest=digest_of(body))
    crash_points.reached("after_intent")
    sent = _sent(work, writer, here=here, tie=tie, intent=intent)
    crash_points.reached("after_send")
    return _concluded(work, step, sent=sent, intent=intent)


def _sent(work: Work, writer: Writer, *, here: Place, tie: Tie, intent: Intent) -> Sent | CouldNotLook:
    if here.step.change is None:
        raise AssertionError("a step without a change sends nothing")
    purpose = f"action={work.row.action} step={here.step.id} attempt={intent.number}"
    try:
        return writer.send(here.step.change, tie, own=marks(str(work.row.pk), work.row.digest), purpose=purpose)
    except CouldNotLook as silence:
        return silence


def _refuse_changed(step: Step, read: Tree | None) -> None:
    """The object is not the one that was planned for, or not as it was (A17, R21, R22)."""
    target = step.change.target if step.change else None
    if target is None:
        return
    uid = str(value_at(read, ("metadata", "uid")) or "")
    if target.uid and uid != target.uid:
        what = "is gone" if read is None else "was made anew under its name"
        raise Halt("changed", f"{target.said} {what} since the preview")
    if projected(read, step.rests_on) != step.digest:
        raise Halt("changed", f"{target.said} was changed since the preview")


def _refuse_endless(here: Place) -> None:
    if here.refusals >= CONFLICTS:
        raise Halt("contended", f"{here.step.title}: somebody else keeps writing to the object")


def _outlived(work: Work) -> None:
    """The lease has to outlive the request's deadline (A20)."""
    if not lease.lasts(work.fence, DEADLINE_SECONDS + SPARE_SECONDS) and not lease.renew(work.fence):
        raise Lost("the lease is over")


def _concluded(work: Work, step: Step, *, sent: Sent | CouldNotLook, intent: Intent) -> bool:
    crash_points.reached("before_outcome")
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
