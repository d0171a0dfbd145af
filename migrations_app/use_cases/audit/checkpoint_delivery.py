"""Signs a checkpoint a minute while there are new events, and delivers checkpoints to every audit sink (A53, R30)."""

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.clients import audit_sink
from migrations_app.errors import ReadError
from migrations_app.models.checkpoint import AuditSink, Checkpoint
from migrations_app.queries.audit.log import head_seq
from migrations_app.use_cases.audit import checkpoints
from migrations_app.use_cases.audit.log import sign_head
from migrations_app.use_cases.runtime.connections import network_policy

log = logging.getLogger(__name__)
NEWS = timedelta(seconds=60)
BATCH = 200
MAX_BATCHES = 20
CLAIM_DURATION = timedelta(seconds=10)
"""How long a worker claims a sink: longer than one delivery may take, so that a dead worker does not block it
longer.
"""


def sign_and_deliver() -> int:
    """Signs a checkpoint if one is due and delivers to all sinks. Returns how many checkpoints were delivered."""
    sign_if_due()
    return sum(deliver(target) for target in settings.ENV.audit_sinks.targets)


def sign_if_due() -> bool:
    """Signs a checkpoint if there are new events and the newest checkpoint is a minute old. Returns whether it did."""
    last = Checkpoint.objects.order_by("-seq").first()
    if head_seq() <= (last.seq if last else 0):
        return False
    if last is not None and timezone.now() - datetime.fromisoformat(last.at) < NEWS:
        return False
    return bool(sign_head(Checkpoint.Why.TIME))


def deliver(target: str) -> int:
    """Sends the checkpoints that the sink has not received, oldest first.

    Returns how many were delivered. Delivery is at least once: a failed batch is sent again, and a line that arrives
    twice has the same content.
    """
    AuditSink.objects.bulk_create([AuditSink(target=target)], ignore_conflicts=True)
    total = 0
    for _ in range(MAX_BATCHES):
        if not _claim_sink(target):
            return total
        count = _deliver(AuditSink.objects.get(target=target))
        total += count
        if not count:
            return total
    return total


def _claim_sink(target: str) -> bool:
    free = Q(busy_until=None) | Q(busy_until__lt=Now())
    return bool(AuditSink.objects.filter(free, target=target).update(busy_until=Now() + CLAIM_DURATION))


def _deliver(sink: AuditSink) -> int:
    rows = list(Checkpoint.objects.filter(seq__gt=sink.seq).order_by("seq")[:BATCH])
    if not rows:
        _store_outcome(sink)
        return 0
    lines = b"".join(checkpoints.line(row) + b"\n" for row in rows)
    try:
        # After a failure the file may end with half a line: start on a new one.
        _send(sink.target, b"\n" + lines if sink.failing_since else lines)
    except ReadError as reason:
        log.warning("audit sink failed", extra={"sink": sink.target, "code": reason.code})
        since = sink.failing_since or timezone.now()
        _store_outcome(sink, failing_since=since, error=reason.code[:60], detail=reason.message[:300])
        return 0
    _store_outcome(sink, seq=rows[-1].seq, delivered_at=timezone.now(), failing_since=None, error="", detail="")
    return len(rows)


def _send(target: str, lines: bytes) -> None:
    sinks = settings.ENV.audit_sinks
    if target == sinks.url:
        audit_sink.post(target, lines, token=sinks.token, reach=network_policy())
    else:
        audit_sink.append(sinks.file, lines)


def _store_outcome(sink: AuditSink, **columns: object) -> None:
    AuditSink.objects.filter(target=sink.target).update(busy_until=None, **columns)
