"""An outcome that nobody saw is settled by reading, never by sending again (A22)."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from migrations_app.actions.conditions import Tree, all_hold, projected, value_at
from migrations_app.actions.progress import Place
from migrations_app.clients.writer import Writer
from migrations_app.flow import journal
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Outcome, Work
from migrations_app.flow.request import DEADLINE_SECONDS
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
        uid = str(value_at(read, ("metadata", "uid")) or "")
        journal.conclude(
            work, line.pk, told=Outcome(outcome="applied", reason="seen afterwards", uid=uid, settled_by=BY)
        )
        return True
    if not _late(line):
        return False
    if _untouched(here, line, read=read):
        journal.conclude(
            work, line.pk, told=Outcome(outcome="not_applied", reason="untouched afterwards", settled_by=BY)
        )
        return True
    journal.conclude(work, line.pk, told=Outcome(outcome="changed_by_other", reason="changed meanwhile", settled_by=BY))
    raise Halt("changed_by_other", f"{here.step.title}: the outcome is not known, and the object was changed meanwhile")


def _late(line: Attempt) -> bool:
    """Whether a request sent then can not arrive any more."""
    over = line.intent_at + timedelta(seconds=DEADLINE_SECONDS + settings.ENV.settle_seconds)
    return timezone.now() >= over


def _untouched(here: Place, line: Attempt, *, read: Tree | None) -> bool:
    """The object is as it was when the request was tied to it: the plan's fields at least have not moved."""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    return uid == line.uid and projected(read, here.step.rests_on) == here.step.digest
