"""What changed between two reports of one cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Report

_GRAVITY = {"fail": 3, "unknown": 2, "manual": 1}
"""How far a status is from settled; statuses not named are settled."""
_TURNS = ("worse", "better", "other")


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A check whose status or count changed, at every hop where it changed in the same way. `before` or `after` is
    None where it was not asked."""

    id: str
    hops: tuple[str, ...]
    title: str
    severity: str
    before: Finding | None
    after: Finding | None
    direction: str
    """better, worse or other."""


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number before and after; None where it could not be read. Fewer is better for all of them."""

    name: str
    before: int | None
    after: int | None

    @property
    def delta(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Renamed:
    """A word before and after, such as the stage; empty where it is not known."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    facts: tuple[Renamed, ...]
    turns: tuple[CheckChange, ...]
    legacy: tuple[NumberChange, ...]
    owners: tuple[NumberChange, ...]

    @property
    def nothing(self) -> bool:
        return not (self.facts or self.turns or self.legacy or self.owners)


def difference(before: Report, after: Report) -> Difference:
    """Only what differs; what is the same in both is left out."""
    return Difference(_facts(before, after), _turns(before, after), _legacy(before, after), _owners(before, after))


def _facts(before: Report, after: Report) -> tuple[Renamed, ...]:
    old, new = before.cluster, after.cluster
    pairs = (
        Renamed("stage", old.stage, new.stage),
        Renamed("karpenter_version", old.karpenter_version or "", new.karpenter_version or ""),
        Renamed("kubernetes_version", old.kubernetes_version or "", new.kubernetes_version or ""),
    )
    return tuple(pair for pair in pairs if pair.before != pair.after)


def _turns(before: Report, after: Report) -> tuple[CheckChange, ...]:
    old = {(finding.id, finding.hop): finding for finding in before.checks}
    new = {(finding.id, finding.hop): finding for finding in after.checks}
    same: dict[tuple[object, ...], list[str]] = {}
    for name, hop in dict.fromkeys((*new, *old)):
        way = name, _answer(old.get((name, hop))), _answer(new.get((name, hop)))
        if way[1] != way[2]:
            same.setdefault(way, []).append(hop)
    turns = (
        _turn(old.get((str(way[0]), hops[0])), new.get((str(way[0]), hops[0])), hops=hops) for way, hops in same.items()
    )
    return tuple(sorted((turn for turn in turns if turn), key=lambda turn: (_TURNS.index(turn.direction), turn.id)))


def _answer(finding: Finding | None) -> tuple[str, str, int] | None:
    return (finding.status, finding.severity, finding.evidence_total) if finding else None


def _turn(old: Finding | None, new: Finding | None, *, hops: Sequence[str]) -> CheckChange | None:
    known = new or old
    if known is None:
        return None
    return CheckChange(known.id, tuple(hops), known.title, known.severity, old, new, _direction(old, new))


def _direction(old: Finding | None, new: Finding | None) -> str:
    if old is None or new is None:
        return "other"
    then, now = _gravity(old), _gravity(new)
    if then == now:
        return "other"
    return "worse" if now > then else "better"


def _gravity(finding: Finding) -> tuple[int, int]:
    weight = _GRAVITY.get(finding.status, 0)
    return weight, finding.evidence_total if weight else 0


def _legacy(before: Report, after: Report) -> tuple[NumberChange, ...]:
    kinds = dict.fromkeys((*before.legacy, *after.legacy))
    moved = (NumberChange(kind, before.legacy.get(kind), after.legacy.get(kind)) for kind in kinds)
    return tuple(change for change in moved if change.before != change.after)


def _owners(before: Report, after: Report) -> tuple[NumberChange, ...]:
    old, new = _counted(before), _counted(after)
    owners = dict.fromkeys((*before.nodes.by_owner, *after.nodes.by_owner))
    moved = (NumberChange(owner, _of(old, owner), _of(new, owner)) for owner in owners)
    return tuple(change for change in moved if change.before != change.after)


def _counted(report: Report) -> dict[str, int] | None:
    return None if report.nodes_certainty == "unknown" else report.nodes.by_owner


def _of(counts: dict[str, int] | None, owner: str) -> int | None:
    return None if counts is None else counts.get(owner, 0)
