"""Packs contents that are history: their findings have no rows, and texts that most contents share are stored once
(decision 0016). A content is history when it is in no cluster's newest snapshot. Each transaction is small (R26). A
packed content returns the same values as before; `store` unpacks it, under the same lock, if a scan finds it again.
"""

import hashlib
import logging
import lzma
import time
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, ContentPart, FindingRow
from migrations_app.readiness.stored_report import answers_as_text, answers_of, split_report

log = logging.getLogger(__name__)
BATCH = 500
"""Maximum number of rows changed in one transaction."""
MAX_PER_SWEEP = 10_000
MIN_UNUSED_TIME = timedelta(hours=1)
"""The time before packing or deletion: a page may still read the former newest content, or a part that became
unused.
"""
ROLLBACK_PERIOD = timedelta(days=7)
"""Nothing is packed for this time after the schema step, because the previous release could not read it (R27)."""
STEP = "0025_packed_contents"
"""The schema step that must be applied. A new database has a record of it, too, because the first release
replaces it.
"""
MARK = f"{STEP[:4]}_needs_{STEP}"
"""Recorded as a schema step before the first content is packed: a release without STEP is then not ready."""
OURS = "migrations_app"
PARTS = ("texts", "statuses", "sheet")
_FILTERS: Final[list[dict[str, Any]]] = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20}]
"""A small dictionary: packing takes some 10 MiB of memory instead of 90."""


def pack_history(*, within: float, now: datetime | None = None) -> int:
    """Packs contents for at most `within` seconds and returns how many. The next call continues."""
    moment, end = now or timezone.now(), time.monotonic() + within
    if not _may_pack(moment):
        return 0
    packed = 0
    for batches in (_sweep_parts, _mark_history, _pack_marked):
        for count in batches(moment):
            packed += count
            if time.monotonic() > end:
                return packed
    return packed


def _may_pack(now: datetime) -> bool:
    steps = MigrationRecorder(connection).applied_migrations()
    applied = getattr(steps.get((OURS, STEP)), "applied", None)
    return applied is not None and now - applied >= ROLLBACK_PERIOD


def _newest() -> Exists:
    return Exists(Cluster.objects.filter(latest__content=OuterRef("pk")))


def _mark_history(now: datetime) -> Iterator[int]:
    """Marks the contents that are history now."""
    rows = Content.objects.filter(~_newest(), history_since=None, texts=None, retired_at=None)
    while digests := list(rows.values_list("pk", flat=True)[:BATCH]):
        rows.filter(pk__in=digests).update(history_since=now)
        yield 0


def _pack_marked(now: datetime) -> Iterator[int]:
    rows = Content.objects.filter(history_since__lte=now - MIN_UNUSED_TIME, texts=None, retired_at=None)
    digests = list(rows.order_by("history_since").values_list("pk", flat=True)[:MAX_PER_SWEEP])
    if digests:
        _note_the_first()
    for digest in digests:
        while (count := _pack_some(digest, now=now)) is not None:
            yield count


def _note_the_first() -> None:
    recorder = MigrationRecorder(connection)
    if (OURS, MARK) not in recorder.applied_migrations():
        recorder.record_applied(OURS, MARK)


def _pack_some(digest: str, *, now: datetime) -> int | None:
    """Deletes a batch of the content's findings, or packs the content if it has none. Returns how many contents were
    packed; None if there is nothing to do.
    """
    with transaction.atomic():
        rows = Content.objects.select_for_update().filter(pk=digest, texts=None, retired_at=None)
        row = rows.exclude(history_since=None).first()
        if row is None:
            return None
        if Cluster.objects.filter(latest__content=digest).exists():  # marked while it was being published
            Content.objects.filter(pk=digest).update(history_since=None)
            return None
        findings = list(row.findings.values_list("pk", flat=True)[:BATCH])
        FindingRow.objects.filter(pk__in=findings).delete()
        if len(findings) == BATCH:
            return 0
        return _pack(row, now=now)


def _pack(row: Content, *, now: datetime) -> int | None:
    try:
        report, sheet = row.plain_report(), row.plain_iam()
        halves, statuses = split_report(report), answers_as_text(answers_of(report))
    except (zlib.error, msgspec.DecodeError):
        log.warning("a stored content cannot be read", extra={"content": row.pk})
        Content.objects.filter(pk=row.pk).update(history_since=now)  # tried again after the others
        return None
    Content.objects.filter(pk=row.pk).update(
        report=_compressed(halves.rest),
        texts=_shared_part(halves.texts),
        statuses=_shared_part(statuses),
        iam=b"",
        sheet=_shared_part(sheet) if sheet else None,
    )
    return 1


def _shared_part(plain: bytes) -> ContentPart:
    """The shared part with this text, locked until the content that uses it is stored."""
    digest = hashlib.sha256(plain).hexdigest()
    parts = ContentPart.objects.select_for_update()
    row, _ = parts.get_or_create(digest=digest, defaults={"body": _compressed(plain)})
    if row.unused_since is not None:
        ContentPart.objects.filter(pk=row.pk).update(unused_since=None)
    return row


def _compressed(plain: bytes) -> bytes:
    return lzma.compress(plain, check=lzma.CHECK_CRC32, filters=_FILTERS)


def _is_used() -> Q:
    return Q(*(Exists(Content.objects.filter(**{name: OuterRef("pk")})) for name in PARTS), _connector=Q.OR)


def _sweep_parts(now: datetime) -> Iterator[int]:
    """Marks parts that no content uses, and deletes those marked some time ago."""
    ContentPart.objects.filter(~_is_used(), unused_since=None).update(unused_since=now)
    over = ContentPart.objects.filter(unused_since__lte=now - MIN_UNUSED_TIME)
    for key in list(over.values_list("pk", flat=True)[:MAX_PER_SWEEP]):
        with transaction.atomic():
            row = ContentPart.objects.select_for_update().filter(pk=key).exclude(unused_since=None).first()
            if row is None:
                continue
            if ContentPart.objects.filter(_is_used(), pk=key).exists():
                ContentPart.objects.filter(pk=key).update(unused_since=None)
            else:
                row.delete()
        yield 0
