"""How far the audit sinks lag behind the log. Too much lag blocks all changes to clusters (A55, R30)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from migrations_app.models.checkpoint import AuditSink
from migrations_app.queries.audit.log import head_seq, moment_of

MAX_EVENTS = 1000
MAX_LAG = timedelta(seconds=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The lag of one sink: `behind` events lack a delivered checkpoint, the oldest of them was written at `since`."""

    target: str
    seq: int
    behind: int
    since: datetime | None
    delivered_at: datetime | None
    failing_since: datetime | None
    error: str
    detail: str

    @property
    def blocks(self) -> bool:
        return self.behind > MAX_EVENTS or (self.since is not None and timezone.now() - self.since > MAX_LAG)


def delivery_lags() -> tuple[Lag, ...]:
    """The lag of each configured sink."""
    targets = settings.ENV.audit_sinks.targets
    if not targets:
        return ()
    head = head_seq()
    known = {row.target: row for row in AuditSink.objects.filter(target__in=targets)}
    return tuple(_lag(known.get(target) or AuditSink(target=target), head) for target in targets)


def why_blocked() -> str:
    """Text of why changes are blocked, while a sink lags too far behind; else empty, and also without sinks."""
    late = next((lag for lag in delivery_lags() if lag.blocks), None)
    if late is None:
        return ""
    cause = f" ({late.detail})" if late.detail else ""
    return f"the audit sink is unavailable: {late.target} is {late.behind} events behind{cause}"


def _lag(row: AuditSink, head: int) -> Lag:
    behind = max(0, head - row.seq)
    return Lag(
        target=row.target,
        seq=row.seq,
        behind=behind,
        since=moment_of(row.seq + 1) if behind else None,
        delivered_at=row.delivered_at,
        failing_since=row.failing_since,
        error=row.error,
        detail=row.detail,
    )
