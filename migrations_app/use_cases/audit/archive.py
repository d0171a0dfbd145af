"""Retention: exports a verified segment of the audit log with its checkpoints. Nothing is deleted (A56)."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from migrations_app.audit_verify import verify
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting
from migrations_app.models.checkpoint import Checkpoint
from migrations_app.queries.audit.log import AuditFilters, export_lines, newest
from migrations_app.use_cases.audit.checkpoints import public_key
from migrations_app.use_cases.audit.log import record_audit_event, sign_head
from migrations_app.use_cases.audit.proof import checkpoint_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSegment:
    """Events `first` to `last` of the log in `file`; `digest` is the SHA-256 of that file."""

    first: int
    last: int
    file: Path
    checkpoints: Path
    digest: str


def seal(folder: Path) -> AuditSegment:
    """Exports all events since the last seal, verifies the files, and records the segment in the log.

    Raises InvalidInput for a folder that cannot be written or if there are no new events, InvalidSetting without a
    signing key, Conflict `audit_broken` if the verification fails.
    """
    first = _last_sealed() + 1
    last = sign_head(Checkpoint.Why.SEAL)
    if not last:
        raise InvalidSetting("a segment needs a signature, and there is no signing key", where="audit seal")
    if last < first:
        raise InvalidInput("there are no events since the last seal", where="audit seal")
    name = f"audit-{first:010}-{last:010}"
    file, signed = folder / f"{name}.jsonl", folder / f"{name}.checkpoints.jsonl"
    digest = _write_file(file, export_lines(AuditFilters(first=first, last=last)))
    _write_file(signed, checkpoint_lines(first=first - 1, last=last))
    _prove(file, signed, first=first, last=last)
    with transaction.atomic():
        record_audit_event("audit.sealed", file.name, first=first, last=last, sha256=digest)
    return AuditSegment(first=first, last=last, file=file, checkpoints=signed, digest=digest)


def _last_sealed() -> int:
    event = newest("audit.sealed")
    return int(json.loads(event.detail)["last"]) if event else 0


def _write_file(path: Path, lines: Iterable[bytes]) -> str:
    """Writes a new read-only file, flushed to disk, and returns its SHA-256. Raises InvalidInput if it exists or cannot
    be written.
    """
    digest = hashlib.sha256()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o440)
        with os.fdopen(descriptor, "wb") as file:
            for line in lines:
                digest.update(line)
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as wrong:
        raise InvalidInput(f"cannot be written: {wrong.strerror}", where=str(path)) from None
    return digest.hexdigest()


def _prove(file: Path, signed: Path, *, first: int, last: int) -> None:
    with file.open("rb") as lines, signed.open("rb") as checkpoints:
        verdict = verify(lines, checkpoints=checkpoints, keys=[public_key()], first=first, to=last)
    if not verdict.ok:
        raise Conflict(f"the segment fails verification: {verdict.why}", code="audit_broken")
