"""The complete findings of one snapshot, with the time since when each has its answer."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from msgspec import Meta, UnsetType

from migrations_app.checks.base import Evidence, Finding, Phase, Remedy, Severity, Status
from migrations_app.checks.registry import ids_of
from migrations_app.models.scan import Content, ContentPart, Snapshot
from migrations_app.queries import pagination
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.pagination import Page, keys_of, page_of
from migrations_app.readiness.outputs.preferred_tool import report_by_tool
from migrations_app.readiness.stored_report import Answers, answers_from

LOOK_BACK = 40
"""Maximum number of different earlier contents that are compared. An unchanged cluster has one content for all its
scans.
"""
MAX_SNAPSHOTS = 2_000
"""Maximum number of earlier snapshots that are compared."""
FindingKey = tuple[str, str]
"""Check and hop."""


@dataclass(frozen=True, slots=True)
class AnswerAge:
    """`since`: the earliest compared scan with the same answer in all scans since. `exact`: an earlier compared scan
    had another answer.
    """

    since: datetime
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDetail:
    """One finding of one check, with its evidence and remedies."""

    check: str
    hop: str
    phase: Phase
    title: Annotated[str, Meta(description="The check's, named after the good state.")]
    status: Status
    severity: Severity
    why: str
    summary: str
    evidence: tuple[Evidence, ...]
    evidence_total: int
    evidence_exact: Annotated[bool, Meta(description="False: there are at least that many.")]
    remedies: tuple[Remedy, ...]
    sources: tuple[str, ...]
    since: Annotated[datetime, Meta(description="When the scan ran from which on the check gave this answer.")]
    since_exact: Annotated[bool, Meta(description="False: no earlier scan with another answer is known; may be older.")]
    asked_at: Annotated[str, Meta(description="The earlier hop that reports it; then it does not count for this one.")]


@dataclass(frozen=True, slots=True)
class SnapshotFindingFilters:
    """Filters of the findings; empty texts mean no filter."""

    check: str = ""
    status: str = ""
    severity: str = ""
    hop: str = ""


def snapshot_finding_page(
    snapshot_id: uuid.UUID, filters: SnapshotFindingFilters, *, after: str, limit: int, tool: str = ""
) -> Page[FindingDetail]:
    """One page of a snapshot's findings, in the order of the report, with the waivers applied. Remedies of the tool
    come first. Raises NotFound.
    """
    keys = keys_of(after, (int,))
    beyond = int(keys[0]) if keys else -1
    lines = [
        (place, finding)
        for place, finding in enumerate(report_by_tool(report_of(snapshot_id), tool).checks)
        if place > beyond and _is_asked(finding, filters)
    ][: limit + 1]
    ages = answer_ages(snapshot_id)
    return page_of(
        lines,
        limit=limit,
        row=lambda line: _detail(line[1], ages[line[1].id, line[1].hop]),
        key=lambda line: pagination.encode((line[0],)),
    )


def answer_ages(snapshot_id: uuid.UUID) -> Mapping[FindingKey, AnswerAge]:
    """Since when each finding of the snapshot has its answer, by check and hop; waivers do not change answers."""
    snapshot = Snapshot.objects.get(pk=snapshot_id)
    earlier = Snapshot.objects.filter(
        cluster=snapshot.cluster_id, scanned_at__lte=snapshot.scanned_at, replaced=snapshot.replaced
    )
    rows = list(earlier.order_by("-scanned_at", "-pk").values_list("content", "scanned_at")[:MAX_SNAPSHOTS])
    compared = list(dict.fromkeys((snapshot.content_id, *(content for content, _ in rows))))[: LOOK_BACK + 1]
    answers = answers_in(compared)
    scans = [(snapshot.scanned_at, answers[snapshot.content_id])]
    for content, at in rows:
        if content not in answers:
            break
        scans.append((at, answers[content]))
    return ages_of(scans)


def answers_in(digests: Collection[str]) -> dict[str, Answers]:
    """The answers of these contents. Packed contents mostly share their answers, which are read once; no packed report
    is read.
    """
    stored = Content.objects.filter(pk__in=digests)
    packed = dict(stored.exclude(statuses=None).values_list("pk", "statuses"))
    parts = ContentPart.objects.filter(pk__in=set(packed.values()))
    answers = {part.pk: answers_from(part.plain) for part in parts}
    others = stored.exclude(pk__in=packed).select_related("texts", "statuses").defer("nodes", "iam")
    return {digest: answers[key] for digest, key in packed.items()} | {row.pk: row.answers() for row in others}


def ages_of(scans: Sequence[tuple[datetime, Answers]]) -> Mapping[FindingKey, AnswerAge]:
    """The ages of the answers of the newest scan; `scans` are ordered newest first, each with its time and answers."""
    runs: list[tuple[datetime, Answers]] = []
    for at, answers in scans:
        if runs and runs[-1][1] == answers:
            runs.pop()
        runs.append((at, answers))
    newest, statuses = runs[0]
    by_key = {key: [(at, answers.get(key)) for at, answers in runs] for key in statuses}
    return {key: _age(by_key[key], newest=newest, status=status) for key, status in statuses.items()}


def _age(answers: Iterable[tuple[datetime, str | None]], *, newest: datetime, status: str) -> AnswerAge:
    since = newest
    for at, answer in answers:
        if answer != status:
            return AnswerAge(since, exact=True)
        since = at
    return AnswerAge(since, exact=False)


def _is_asked(finding: Finding, filters: SnapshotFindingFilters) -> bool:
    pairs = (
        (filters.status, finding.status),
        (filters.severity, finding.severity),
        (filters.hop, finding.hop),
    )
    named = not filters.check or finding.id in ids_of(filters.check)
    return named and all(want in ("", is_there) for want, is_there in pairs)


def _detail(finding: Finding, age: AnswerAge) -> FindingDetail:
    return FindingDetail(
        check=finding.id,
        hop=finding.hop,
        phase=finding.phase,
        title=finding.title,
        status=finding.status,
        severity=finding.severity,
        why=finding.why,
        summary=finding.summary,
        evidence=finding.evidence,
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
        remedies=finding.remedies,
        sources=finding.sources,
        since=age.since,
        since_exact=age.exact,
        asked_at="" if isinstance(finding.asked_at, UnsetType) else finding.asked_at,
    )
