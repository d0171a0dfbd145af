"""Judges the hops of an upgrade path in order, each in the state that the hops before it reach.

At each hop every check judges the inventory. Then the effects of the fixes change the inventory, in the order of the
work, and the checks that read a changed field judge again: a cause that appears only then belongs to the same hop. A
cause that a hop asks for is not asked for again by later hops: where the effect of its fix is not known, it is unknown
until the next scan. At the end the effect of the upgrade itself is applied, and the next hop begins in that state.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from migrations_app.checks.base import Check, Finding
from migrations_app.checks.runner import Cause, CheckAnswer, ReportedCause, within_size_limit
from migrations_app.inventory.inventory import Inventory, TrackedInventory, track_reads
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.runbook.hop_judge import HopJudge
from migrations_app.readiness.runbook.hop_work import HopWork
from migrations_app.readiness.runbook.work_order import CRDS_INSTALLED_CHECK, reverted_after_upgrade

MAX_ROUNDS: Final = 3
"""How often at most the fixes of a hop are made and judged again: a fix may make another one necessary."""


@dataclass(slots=True)
class Walk:
    """Judges hop after hop. `asked` holds the causes that earlier hops ask for."""

    inventory: TrackedInventory
    checks: Sequence[Check]
    asked: dict[tuple[str, Cause], ReportedCause] = field(default_factory=dict)

    def hop(self, hop: PathHop, *, last: bool) -> tuple[Finding, ...]:
        """Returns the findings of the hop: in the state in which it begins, and in those that its own fixes reach.

        Afterwards `inventory` is the state after the upgrade of the hop, except for the last hop.
        """
        hop_checks = [check for check in self.checks if check.applies(hop.name)]
        judge = HopJudge(hop_checks, hop, self.asked)
        judge.judge(self.inventory)
        work = HopWork(self.inventory, hop)
        for _ in range(MAX_ROUNDS):
            work.prepare(judge.findings())
            if not judge.judge_again(work.inventory, changed=work.changed, fixes=work.fixes):
                break
        judge.note_remaining_causes(work.fixes)
        if last:
            judge.judge_later_kubernetes(self.inventory)
        findings = within_size_limit(judge.findings())
        if not last:
            self._remember(judge.answers.values(), hop=hop.name)
            work.upgrade(findings)
            self.inventory = work.inventory
        return findings

    def _remember(self, answers: Iterable[CheckAnswer], *, hop: str) -> None:
        """Adds the causes that the hop asks for to `asked`, so that later hops do not ask for them again."""
        for finding, causes in answers:
            is_asked = finding.status == "manual" or (finding.status == "fail" and bool(finding.remedies))
            if is_asked and finding.id != CRDS_INSTALLED_CHECK and not reverted_after_upgrade((finding,)):
                for cause in causes:
                    self.asked.setdefault((finding.id, cause), ReportedCause(hop, finding.severity))


def findings_of_hops(
    inventory: Inventory, hops: Sequence[PathHop], *, checks: Sequence[Check]
) -> Iterator[tuple[Finding, ...]]:
    """Yields the findings of each hop, in the order of the path."""
    walk = Walk(track_reads(inventory), checks)
    for hop in hops:
        yield walk.hop(hop, last=hop is hops[-1])
