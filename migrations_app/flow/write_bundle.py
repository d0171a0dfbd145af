"""A live cluster -> a redacted file: a scan runs over a recording, so the file holds what a scan asks for."""

import os
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from migrations_app.clients.bundle_write import Recording
from migrations_app.errors import BadInput
from migrations_app.flow.collect import Progress, collect
from migrations_app.flow.scan_source import SECONDS, Reachable, open_kubeconfig


@dataclass(frozen=True, slots=True)
class Made:
    """`unseen` says of each part that could not be read why."""

    objects: int
    size: int
    unseen: tuple[str, ...]


def bundle_kubeconfig(
    path: Path,
    *,
    context: str,
    out: Path,
    reachable: Reachable,
    made_by: str,
    on_part: Progress | None = None,
) -> Made:
    """Writes the bundle whole or not at all. Raises BadInput, CouldNotLook when nothing answers."""
    if not out.parent.is_dir() or out.is_dir():
        raise BadInput("its folder does not exist" if not out.is_dir() else "is a folder", where=str(out))
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        recording = Recording(api)
        collected = collect(recording, cluster=name, deadline=SECONDS, on_part=on_part)
    unseen = tuple(f"{line.name}: {line.why}" for line in collected.parts if not line.seen)
    objects = _write(recording, out, made_at=collected.inventory.taken_at, made_by=made_by)
    return Made(objects, out.stat().st_size, unseen)


def _write(recording: Recording, out: Path, *, made_at: str, made_by: str) -> int:
    """Into a file beside it first, readable by nobody else: a redacted bundle still names everything in a cluster."""
    try:
        descriptor, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}-")
    except OSError as wrong:
        raise BadInput(f"cannot be written: {wrong.strerror}", where=str(out)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            manifest = recording.write(file, made_at=made_at, made_by=made_by)
        Path(draft).replace(out)
    except OSError as wrong:
        raise BadInput(f"cannot be written: {wrong.strerror}", where=str(out)) from None
    finally:
        Path(draft).unlink(missing_ok=True)
    return sum(part.count for part in manifest.asked)
