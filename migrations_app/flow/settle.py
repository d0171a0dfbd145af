"""An outcome that nobody saw is settled by reading, never by sending again (A22)."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from migrations_app.actions.conditions import Exists, Tree, all_hold, holds, projected, value_at
from migrations_app.actions.progress import Place
from migrations_app.actions.sending import marks
from migrations_app.clients.writer import Writer
from migrations_app.flow import journal, request
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Outcome, Work
from migrations_app.flow.waiting import wait_for
from migrations_app.models.rollout import Attempt

BY = "read"


def settle(work: Work, writer: Writer, *, here: Place) -> bool:
    """Settles the open line: applied when what it was to bring is there, not applied when its object is untouched long
    after the deadline, else changed by somebody else. False: too early to tell. Raises Halt, Lost, CouldNotLook."""
    line = here.open
    if not isinstance(line, Attempt) or here.step.change is None:
        return False
    read = writer.read(here.step.change.target)
    if all_hold(here.step.brings, read, uid=here.step.change.target.uid):
        return _brought(work, line, read=read)
    if not _late(line):
        return wait_for(work, f"the outcome of the last request ({here.step.title})")
    if _untouched(here, line, read=read):
        return _concluded(work, line, outcome="not_applied", reason="untouched afterwards")
    _concluded(work, line, outcome="changed_by_other", reason="changed meanwhile")
    raise Halt("changed_by_other", f"{here.step.title}: the outcome is not known, and the object was changed meanwhile")


def _brought(work: Work, line: Attempt, *, read: Tree | None) -> bool:
    """What it was to bring is there. An object without our marks where one was to be made is somebody else's (A23)."""
    made = line.uid or holds(Exists(marks=marks(str(work.row.pk), work.row.digest)), read)
    if not made:
        return _concluded(work, line, outcome="not_applied", reason="somebody else has made it")
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return _concluded(work, line, outcome="applied", reason="seen afterwards", uid=uid)


def _concluded(work: Work, line: Attempt, *, outcome: str, reason: str, uid: str = "") -> bool:
    told = Outcome(outcome=outcome, reason=reason, uid=uid, settled_by=BY, status=line.status, audit_id=line.audit_id)
    journal.conclude(work, line.pk, told=told)
    return True


def _late(line: Attempt) -> bool:
    """Whether a request sent then can not arrive any more, by the clock of the database (R18)."""
    patience = timedelta(seconds=request.DEADLINE_SECONDS + settings.ENV.settle_seconds)
    return Attempt.objects.filter(pk=line.pk, intent_at__lte=Now() - patience).exists()


def _untouched(here: Place, line: Attempt, *, read: Tree | None) -> bool:
    """The object is as it was when the request was tied to it: the plan's fields at least have not moved."""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return uid == line.uid and projected(read, here.step.rests_on) == here.step.digest
