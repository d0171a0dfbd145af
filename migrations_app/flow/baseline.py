"""The picture before a batch, taken once: what its gate is judged against."""

import msgspec

from migrations_app.actions.gate import Picture
from migrations_app.actions.plan import Step
from migrations_app.actions.progress import batch_of
from migrations_app.clients.writer import Writer
from migrations_app.flow.journal import Work, note
from migrations_app.flow.watch import picture


def note_baseline(work: Work, writer: Writer, *, step: Step) -> None:
    """Keeps the picture before the step's batch, unless it was taken already. Raises CouldNotLook."""
    batch = batch_of(work.plan, step)
    if work.row.baseline.get("batch") == batch or not any(one.after for one in work.plan.steps if one.id == batch):
        return
    taken = picture(writer, standing=())
    kept = {"batch": batch, "picture": msgspec.to_builtins(taken)}
    note(work, baseline=kept, picture=kept["picture"], gate_since=None)


def baseline(work: Work) -> Picture:
    """The picture before the batch under way; one without any numbers where none was taken."""
    kept = work.row.baseline.get("picture")
    return msgspec.convert(kept, type=Picture) if kept else Picture(taken_at="")
