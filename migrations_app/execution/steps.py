"""Carries out one step of a plan as one request, with a record before and after it is sent (A17-A21).

Before a request, clock, policy and hourly limit have to allow it (A05, A33). Afterwards, an unknown outcome is settled
by reading the object, never by sending the request again (A22).
"""

import time

from msgspec import UNSET

from migrations_app.actions.conditions import Exists, all_hold, fields_digest, holds, successor_note, value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.request import ObjectVersion, digest_of, marks, request_body
from migrations_app.actions.states import NOT_APPLIED, SKIP, Position, begins_batch, sends_first
from migrations_app.clients.helm.records import SettledRun, settled_run
from migrations_app.clients.kubernetes.api import Writer, WriteResult
from migrations_app.errors import InvalidInput, ReadError
from migrations_app.execution.gates import note_baseline, pass_gate
from migrations_app.execution.interface import (
    AttemptLine,
    AttemptOutcome,
    Execution,
    Intent,
    LeaseLost,
    RolloutHalted,
)
from migrations_app.execution.list_limits import list_difference
from migrations_app.manifests import JsonMap


def carry_out(work: Execution, writer: Writer, *, position: Position) -> bool:
    """True if there was progress; False if the rollout has to wait. Raises RolloutHalted, LeaseLost, ReadError."""
    if position.phase == "settle":
        return resolve_unknown_outcome(work, writer, position=position)
    if position.phase == "gate":
        return pass_gate(work, writer, position=position)
    return make_request(work, writer, position=position)


def reason_to_wait(work: Execution, writer: Writer, *, step: Step) -> str:
    """Text of what to wait for before the step's request is sent; empty if it may be sent.

    At the first step of a batch it raises RolloutHalted: `other_cluster`, `release_changed`, `right_gone`, or `closed`
    by a freeze or change window.
    """
    if left := work.grace_period():
        return left
    if begins_batch(work.plan, step):
        refuse_other_cluster(work, writer)
        _refuse_other_release(work, writer, first=sends_first(work.plan, step))
        work.refuse_batch()
    return work.hourly_limit(step)


def refuse_other_cluster(work: Execution, writer: Writer) -> None:
    """Raises RolloutHalted `other_cluster` if the API server is not that of the planned cluster (A05, T17)."""
    if writer.identity() != work.plan.identity:
        raise RolloutHalted("other_cluster", "another cluster answers at this address", state="needs_attention")


def _refuse_other_release(work: Execution, writer: Writer, *, first: bool) -> None:
    """Raises RolloutHalted `release_changed` if another release of the controller runs than at the preview. A plan that
    changes the release itself is compared before its first request only. Raises ReadError if nothing can tell."""
    plan = work.plan
    if plan.controllers is UNSET or (plan.changes_controller and not first):
        return
    for controller in plan.controllers:
        if words := controller.difference(writer.read(controller.deployment)):
            raise RolloutHalted("release_changed", f"{words}; make a new preview")


MAX_FRUITLESS = 5
"""How many requests of a step in a row may change nothing, such as after concurrent writes to its object (A18)."""
DEADLINE_SECONDS = 30.0
MARGIN_SECONDS = 5.0
MAX_RETRY_PAUSE = 30.0


def make_request(work: Execution, writer: Writer, *, position: Position) -> bool:
    """Carries out the step's next request. True if there was progress.

    1. Wait, or halt, if the clock, the policy or the limits do not allow it.
    2. Store the baseline of the batch, and read the object.
    3. If it already has the step's result, record that without a request.
    4. If a person skips it, skip the step. If the object, or one that the request was computed from, changed since
       the preview, or more objects would go with it, skip the step or halt.
    5. Renew the lease if it is shorter than the request's deadline, commit the intent, and send the request once.
    6. Commit the outcome (A21).

    Raises RolloutHalted, LeaseLost, StopRequested, ReadError.
    """
    step, change = position.step, position.step.change
    if change is None:
        return False
    if words := reason_to_wait(work, writer, step=step):
        return work.report_waiting(words)
    note_baseline(work, writer, step=step)
    read = writer.read(change.target)
    if all_hold(step.postconditions, read, uid=change.target.uid):
        _record_existing_result(work, position=position, read=read)
        return True
    if words := work.skip_asked(step):
        work.record_skipped(step, verb=SKIP, reason=words)
        return True
    if why := _object_difference(step, read) or _source_difference(step, writer) or list_difference(step, writer):
        return _skip_or_halt(work, step, why=why)
    _refuse_endless(work, step)
    return _send_request(work, writer, position=position, object_version=ObjectVersion.of(read))


def _send_request(work: Execution, writer: Writer, *, position: Position, object_version: ObjectVersion) -> bool:
    step, change = position.step, position.step.change
    if change is None:
        raise AssertionError("a step without a change sends nothing")
    body = request_body(change, object_version, own=_own_marks(work))
    work.refuse_short_lease(DEADLINE_SECONDS + MARGIN_SECONDS)
    work.reached("before_intent")
    intent = work.record_intent(step, change=change, object_version=object_version, body_digest=digest_of(body))
    began = time.monotonic()
    work.reached("after_intent")
    if time.monotonic() - began > MARGIN_SECONDS:
        # The process was suspended after the intent: another worker may be settling it. Nothing was sent yet.
        raise LeaseLost("the worker stalled between the intent and its request")
    sent = _send(work, writer, position=position, object_version=object_version, intent=intent)
    work.reached("after_send")
    return _record_response(work, step, sent=sent, intent=intent)


def _own_marks(work: Execution) -> dict[str, str]:
    return marks(work.name, work.digest)


def _send(
    work: Execution, writer: Writer, *, position: Position, object_version: ObjectVersion, intent: Intent
) -> WriteResult | ReadError | InvalidInput:
    if position.step.change is None:
        raise AssertionError("a step without a change sends nothing")
    purpose = f"action={work.name} step={position.step.id} attempt={intent.number}"
    try:
        return writer.send(position.step.change, object_version, own=_own_marks(work), purpose=purpose)
    except (ReadError, InvalidInput) as silence:
        return silence


def _record_existing_result(work: Execution, *, position: Position, read: JsonMap | None) -> None:
    """Records that the result exists already: `applied` if an earlier request may have caused it, else `noop` (A25)."""
    step, change = position.step, position.step.change
    if change is None:
        return
    marked = change.verb in ("create", "helm")
    is_own = holds(Exists(marks=_own_marks(work)), read) if marked else position.in_doubt
    if change.verb == "helm" and not is_own:
        raise RolloutHalted("changed", f"{change.target.display_name} was created by another client since the preview")
    if is_own:
        reason, outcome = "an earlier request came through after all", "applied"
    else:
        reason, outcome = f"it was so already{successor_note(change.target, read)}", "noop"
    work.record_skipped(step, verb=change.verb, reason=reason, outcome=outcome)


def _skip_or_halt(work: Execution, step: Step, *, why: str) -> bool:
    """Skips the step if it may be skipped; else raises RolloutHalted (A17, R21, R22). What was to be created, and is
    there with other content, is never left out: later steps rest on it.
    """
    if not step.skippable or (step.change is not None and step.change.verb == "create"):
        raise RolloutHalted("changed", why)
    work.record_skipped(step, verb=SKIP, reason=f"left out: {why}")
    return True


def _object_difference(step: Step, read: JsonMap | None) -> str:
    """Text of how the object differs from the planned one; empty if it does not (A17, R21, R22)."""
    target = step.change.target if step.change else None
    if target is None:
        return ""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    if target.uid and uid != target.uid:
        words = "is gone" if read is None else "was deleted and created again"
        return f"{target.display_name} {words} since the preview"
    if fields_digest(read, step.preconditions) == step.digest:
        return ""
    is_new = read is not None and step.change is not None and step.change.verb == "create"
    return f"{target.display_name} was {'created by another client' if is_new else 'changed'} since the preview"


def _source_difference(step: Step, writer: Writer) -> str:
    """Text of which object changed since the preview, or since an earlier step, if the request was computed from it or
    rests on it; empty if none did.
    """
    differences = (source.difference(writer.read(source.target)) for source in step.computed_from)
    why = next((words for words in differences if words), "")
    if why:
        return f"{why} since the preview, and the request was computed from it: make a new preview"
    missing = (result.difference(writer.read(result.target)) for result in step.earlier)
    lost = next((words for words in missing if words), "")
    return f"{lost}, and this one rests on it: make a new preview" if lost else ""


def _refuse_endless(work: Execution, step: Step) -> None:
    """Raises RolloutHalted after MAX_FRUITLESS requests that changed nothing, with the cause of the last."""
    fruitless = work.fruitless(step)
    if fruitless.count < MAX_FRUITLESS:
        return
    if fruitless.outcome == NOT_APPLIED:
        words = f"{fruitless.count} requests in a row changed nothing: {fruitless.reason}"
        raise RolloutHalted(NOT_APPLIED, f"{step.title}: {words}")
    known = {
        429: ("overloaded", "the API server repeatedly asks to wait"),
        404: ("refused_404", fruitless.reason or "the API server does not serve this path"),
    }
    code, why = known.get(fruitless.status or 0, ("contended", "another client keeps writing to the object"))
    raise RolloutHalted(code, f"{step.title}: {why}")


def _record_response(
    work: Execution, step: Step, *, sent: WriteResult | ReadError | InvalidInput, intent: Intent
) -> bool:
    work.reached("before_outcome")
    if isinstance(sent, InvalidInput):
        work.record_outcome(intent.attempt_id, AttemptOutcome(outcome="refused", reason=sent.message))
        raise RolloutHalted(sent.code, f"{step.title}: {sent.message}")
    if isinstance(sent, ReadError):
        work.record_outcome(intent.attempt_id, AttemptOutcome(outcome="unknown", reason=sent.message))
        return True
    word = "applied" if sent.done else "unknown" if sent.in_doubt else "refused"
    outcome = AttemptOutcome(
        outcome=word,
        status=sent.status,
        reason=sent.message or sent.reason,
        audit_id=sent.audit_id,
        uid=sent.uid,
        resource_version=sent.resource_version,
    )
    work.record_outcome(intent.attempt_id, outcome)
    work.reached("after_outcome")
    if word == "refused":
        _handle_refusal(work, step, sent=sent)
    return True


def _handle_refusal(work: Execution, step: Step, *, sent: WriteResult) -> None:
    """Returns after a temporary refusal, to be retried; else raises RolloutHalted with the server's message."""
    if sent.conflicts:
        raise RolloutHalted("field_conflict", f"{step.title}: fields are owned by {', '.join(sent.conflicts)}")
    if sent.status in (404, 409):
        return
    if sent.status == 429:
        work.wait(min(sent.retry_after or 1.0, MAX_RETRY_PAUSE))
        return
    raise RolloutHalted(f"refused_{sent.status}", f"{step.title}: {sent.message or sent.reason}")


BY = "read"


def resolve_unknown_outcome(work: Execution, writer: Writer, *, position: Position) -> bool:
    """Settles a request with an unknown outcome by reading its object. False while it is too early to tell.

    1. The object has the step's result: `applied`.
    2. The request may still arrive (deadline and settling time not over): wait.
    3. The object is unchanged: `not_applied`; the step is tried again.
    4. Otherwise: `changed_by_other`, and the rollout halts.

    Raises RolloutHalted, LeaseLost, ReadError.
    """
    line = work.open_line(position)
    if line is None or position.step.change is None:
        return False
    read = writer.read(position.step.change.target)
    if all_hold(position.step.postconditions, read, uid=position.step.change.target.uid):
        return _settle_existing_result(work, position.step, line=line, read=read)
    if position.step.change.verb == "helm" and read is not None:
        settled = settled_run(read, own=_own_marks(work), late=work.is_late(line, deadline=DEADLINE_SECONDS))
        if settled is not None:
            return _settle_helm_run(work, position, line=line, settled=settled)
    if not work.is_late(line, deadline=DEADLINE_SECONDS):
        return work.report_waiting(f"the outcome of the last request ({position.step.title})")
    if _is_unchanged(position, line, read=read):
        return _record_settlement(work, line, outcome=NOT_APPLIED, reason="untouched afterwards")
    _record_settlement(work, line, outcome="changed_by_other", reason="changed meanwhile")
    raise RolloutHalted(
        "changed_by_other", f"{position.step.title}: the outcome is not known, and the object was changed meanwhile"
    )


def _settle_helm_run(work: Execution, position: Position, *, line: AttemptLine, settled: SettledRun) -> bool:
    """Records the end of a run of helm that did not succeed, and raises RolloutHalted: nothing is sent again."""
    _record_settlement(work, line, outcome=settled.outcome, reason=settled.words)
    work.refuse_stopped()
    raise RolloutHalted(settled.code, f"{position.step.title}: {settled.words}")


def _settle_existing_result(work: Execution, step: Step, *, line: AttemptLine, read: JsonMap | None) -> bool:
    """Records that the result exists; a new object without the rollout's marks was created by someone else (A23)."""
    is_own = line.uid or holds(Exists(marks=_own_marks(work)), read)
    if not is_own:
        return _record_settlement(work, line, outcome=NOT_APPLIED, reason="somebody else has made it")
    uid = str(value_at(read, ("metadata", "uid")) or "")
    reason = f"seen afterwards{successor_note(step.change.target, read) if step.change else ''}"
    return _record_settlement(work, line, outcome="applied", reason=reason, uid=uid)


def _record_settlement(work: Execution, line: AttemptLine, *, outcome: str, reason: str, uid: str = "") -> bool:
    said = f"{reason} ({line.reason})" if line.reason else reason
    settlement = AttemptOutcome(
        outcome=outcome, reason=said, uid=uid, settled_by=BY, status=line.status, audit_id=line.audit_id
    )
    work.record_outcome(line.pk, settlement)
    return True


def _is_unchanged(position: Position, line: AttemptLine, *, read: JsonMap | None) -> bool:
    """Whether the object is unchanged since before the request, at least in the fields that the step depends on."""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return uid == line.uid and fields_digest(read, position.step.preconditions) == position.step.digest
