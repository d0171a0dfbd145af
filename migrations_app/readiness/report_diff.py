"""Compares two reports of one cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Report

_GRAVITY = {"fail": 3, "unknown": 2, "manual": 1}
"""How far a status is from settled; other statuses are settled."""
Direction = Literal["worse", "better", "other"]
_DIRECTIONS = get_args(Direction)


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A check whose status or count changed, with every hop at which it changed in this way. `before` or `after` is
    None if that report did not run it."""

    id: str
    hops: tuple[str, ...]
    title: str
    severity: str
    before: Finding | None
    after: Finding | None
    direction: Direction


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number before and after; None if it could not be read. Less is always better."""

    name: str
    before: int | None
    after: int | None

    @property
    def delta(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text before and after, such as the stage; empty if not known."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    facts: tuple[TextChange, ...]
    turns: tuple[CheckChange, ...]
    legacy: tuple[NumberChange, ...]
    owners: tuple[NumberChange, ...]

    @property
    def nothing(self) -> bool:
        return not (self.facts or self.turns or self.legacy or self.owners)


def difference(before: Report, after: Report) -> Difference:
    """Returns the changes only."""
    return Difference(
        _facts(before, after), _check_changes(before, after), _legacy(before, after), _owners(before, after)
    )


def _facts(before: Report, after: Report) -> tuple[TextChange, ...]:
    cluster_before, cluster_after = before.cluster, after.cluster
    pairs = (
        TextChange("stage", cluster_before.stage, cluster_after.stage),
        TextChange("karpenter_version", cluster_before.karpenter_version or "", cluster_after.karpenter_version or ""),
        TextChange(
            "kubernetes_version", cluster_before.kubernetes_version or "", cluster_after.kubernetes_version or ""
        ),
    )
    return tuple(pair for pair in pairs if pair.before != pair.after)


def _check_changes(before: Report, after: Report) -> tuple[CheckChange, ...]:
    before_by_key = {(finding.id, finding.hop): finding for finding in before.checks}
    after_by_key = {(finding.id, finding.hop): finding for finding in after.checks}
    hops_by_change: dict[tuple[object, ...], list[str]] = {}
    for name, hop in dict.fromkeys((*after_by_key, *before_by_key)):
        change = name, _answer(before_by_key.get((name, hop))), _answer(after_by_key.get((name, hop)))
        if change[1] != change[2]:
            hops_by_change.setdefault(change, []).append(hop)
    turns = (
        _check_change(
            before_by_key.get((str(change[0]), hops[0])), after_by_key.get((str(change[0]), hops[0])), hops=hops
        )
        for change, hops in hops_by_change.items()
    )
    return tuple(
        sorted((turn for turn in turns if turn), key=lambda turn: (_DIRECTIONS.index(turn.direction), turn.id))
    )


def _answer(finding: Finding | None) -> tuple[str, str, int] | None:
    return (finding.status, finding.severity, finding.evidence_total) if finding else None


def _check_change(before: Finding | None, after: Finding | None, *, hops: Sequence[str]) -> CheckChange | None:
    finding = after or before
    if finding is None:
        return None
    return CheckChange(
        finding.id, tuple(hops), finding.title, finding.severity, before, after, _direction(before, after)
    )


def _direction(before: Finding | None, after: Finding | None) -> Direction:
    if before is None or after is None:
        return "other"
    gravity_before, gravity_after = _gravity_of(before), _gravity_of(after)
    if gravity_before == gravity_after:
        return "other"
    return "worse" if gravity_after > gravity_before else "better"


def _gravity_of(finding: Finding) -> tuple[int, int]:
    weight = _GRAVITY.get(finding.status, 0)
    return weight, finding.evidence_total if weight else 0


def _legacy(before: Report, after: Report) -> tuple[NumberChange, ...]:
    kinds = dict.fromkeys((*before.legacy, *after.legacy))
    changes = (NumberChange(kind, before.legacy.get(kind), after.legacy.get(kind)) for kind in kinds)
    return tuple(change for change in changes if change.before != change.after)


def _owners(before: Report, after: Report) -> tuple[NumberChange, ...]:
    counts_before, counts_after = _node_counts(before), _node_counts(after)
    owners = dict.fromkeys((*before.nodes.by_owner, *after.nodes.by_owner))
    changes = (NumberChange(owner, _count_of(counts_before, owner), _count_of(counts_after, owner)) for owner in owners)
    return tuple(change for change in changes if change.before != change.after)


def _node_counts(report: Report) -> dict[str, int] | None:
    return None if report.nodes_certainty == "unknown" else report.nodes.by_owner


def _count_of(counts: dict[str, int] | None, owner: str) -> int | None:
    return None if counts is None else counts.get(owner, 0)
