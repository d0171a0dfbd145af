"""What changed between two snapshots of one cluster."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from migrations_app.checks.base import Finding, Severity, Status
from migrations_app.errors import InvalidInput, NotFound
from migrations_app.models.scan import Snapshot
from migrations_app.queries.clusters.detail import older_than, report_of
from migrations_app.queries.visibility import visible
from migrations_app.readiness.report_diff import CheckChange, Direction, NumberChange, TextChange, difference


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotAnswer:
    """The answer of a check in one of the two snapshots."""

    status: Status
    severity: Severity
    evidence_total: int
    evidence_exact: Annotated[bool, Meta(description="False: there are at least that many.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCheck:
    """A check whose answer changed, with every hop for which it changed in this way."""

    check: str
    hops: tuple[str, ...]
    title: str
    direction: Direction
    before: Annotated[SnapshotAnswer | None, Meta(description="Null: that snapshot has no such check.")]
    after: Annotated[SnapshotAnswer | None, Meta(description="Null: that snapshot has no such check.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChanges:
    """The two snapshots of a cluster, and what differs between them; empty lists if nothing does."""

    cluster: uuid.UUID
    before: uuid.UUID
    before_scanned_at: datetime
    after: uuid.UUID
    after_scanned_at: datetime
    facts: tuple[TextChange, ...]
    checks: tuple[ChangedCheck, ...]
    legacy: tuple[NumberChange, ...]
    owners: tuple[NumberChange, ...]


def snapshot_changes(snapshot_id: uuid.UUID, *, before: uuid.UUID | None = None) -> SnapshotChanges:
    """Returns what changed since the snapshot `before`, or since the one that was taken just before.

    Raises NotFound for a snapshot that is not visible, and InvalidInput `no_earlier_snapshot` if `before` is no earlier
    snapshot of the same cluster, or there is none.
    """
    after = Snapshot.objects.filter(visible(), pk=snapshot_id).first()
    if after is None:
        raise NotFound("no such snapshot")
    earlier = Snapshot.objects.filter(
        older_than(after.scanned_at, after.pk), cluster_id=after.cluster_id, replaced=after.replaced
    )
    chosen = earlier if before is None else earlier.filter(pk=before)
    first = chosen.order_by("-scanned_at", "-pk").first()
    if first is None:
        problem = "is no earlier snapshot of that cluster" if before else "there is no earlier snapshot of that cluster"
        raise InvalidInput(problem, where="before", code="no_earlier_snapshot")
    change = difference(report_of(first.pk), report_of(after.pk))
    return SnapshotChanges(
        cluster=after.cluster_id,
        before=first.pk,
        before_scanned_at=first.scanned_at,
        after=after.pk,
        after_scanned_at=after.scanned_at,
        facts=change.facts,
        checks=tuple(_changed_check(turn) for turn in change.turns),
        legacy=change.legacy,
        owners=change.owners,
    )


def _changed_check(change: CheckChange) -> ChangedCheck:
    return ChangedCheck(
        check=change.id,
        hops=change.hops,
        title=change.title,
        direction=change.direction,
        before=_answer(change.before),
        after=_answer(change.after),
    )


def _answer(finding: Finding | None) -> SnapshotAnswer | None:
    if finding is None:
        return None
    return SnapshotAnswer(
        status=finding.status,
        severity=finding.severity,
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
    )
