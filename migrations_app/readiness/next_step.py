"""What to do next at a hop, and whether it is safe to take it: two short answers before the long list."""

from collections.abc import Iterable
from typing import NamedTuple

from migrations_app.checks.values import PHASES, Finding
from migrations_app.readiness.groups import Group, grouped
from migrations_app.readiness.report import Verdict


class NextStep(NamedTuple):
    """`safe` answers whether the hop may be taken now; `do` is the next thing, `check` the id that asks for it.

    `others` counts what stands in the same way beside it.
    """

    safe: str
    do: str
    check: str = ""
    others: int = 0


def next_step(verdict: Verdict, findings: Iterable[Finding], *, release: str, cluster: str) -> NextStep:
    """Where several things are to be done, the first one in the order of the work; of open questions the one that is
    known how to answer, and then the one that most of them wait for."""
    groups = grouped((f for f in findings if f.status in ("fail", "unknown", "manual")), cluster=cluster)
    blockers = [group for group in groups if group.severity == "blocker"]
    if failing := _in_order(group for group in blockers if group.status == "fail"):
        told = "1 blocker stands" if len(failing) == 1 else f"{len(failing)} blockers stand"
        return NextStep(f"Not safe: {told} in the way", failing[0].summary, failing[0].first.id, len(failing) - 1)
    if blockers:
        first = max(_in_order(blockers), key=lambda group: (bool(group.remedies), _questions(group)))
        questions = sum(map(_questions, blockers))
        told = "1 question that can block is" if questions == 1 else f"{questions} questions that can block are"
        safe = f"Not known to be safe: {told} open"
        return NextStep(safe, _seen(first), first.first.id, len(blockers) - 1)
    if verdict == "needs_facts":
        return NextStep("Not known to be safe: nothing could be asked", "Scan the cluster with the rights it needs")
    return _care(_in_order(group for group in groups if group.severity == "warning"), release=release)


def _questions(group: Group) -> int:
    return sum(finding.open_blocker for finding in group.findings)


def _care(warnings: list[Group], *, release: str) -> NextStep:
    land = f"Land on {release}, CRDs first" if release else "Nothing is left to do"
    if not warnings:
        return NextStep("Safe: nothing stands in the way", land)
    told = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    return NextStep(f"Safe with care: {told} to weigh", _seen(warnings[0]), warnings[0].first.id, len(warnings) - 1)


def _seen(group: Group) -> str:
    return f"{group.summary} ({len(group.findings)} checks)" if not group.alone else group.summary


def _in_order(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: PHASES.index(group.first.phase))
