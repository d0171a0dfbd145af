"""Walks the hops of a path in order: each is judged by the state that it begins in.

At a hop every check is put to the inventory as it is then. The fixes are made by their effects, in the order of the
work, and what they changed is judged again before the landing: what only shows then is asked for as well. Where a fix
has no effect that can be told, its cause is remembered and not asked for again: it is unknown until the cluster is
scanned again. Then the release lands, and the walk goes on with what is reached.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from migrations_app.checks.base import Check, Finding
from migrations_app.checks.runner import Cause, CheckAnswer, ReportedCause, within_size_limit
from migrations_app.inventory.inventory import Inventory, NotingInventory, noting
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.plan.hop_judge import HopJudge
from migrations_app.readiness.plan.hop_work import HopWork
from migrations_app.readiness.plan.work_order import LANDS, taken_back

ROUNDS: Final = 3
"""How often the fixes of a hop are made and judged again at most: the fix of one may ask for another one."""


@dataclass(slots=True)
class Walk:
    """Goes from hop to hop. `planned` is the Kubernetes minor that the last step is asked about, if any."""

    inventory: NotingInventory
    checks: Sequence[Check]
    planned: str = ""
    asked: dict[tuple[str, Cause], ReportedCause] = field(default_factory=dict)

    def hop(self, step: PathHop, *, last: bool) -> tuple[Finding, ...]:
        """The findings of the hop, in the state that it begins in and in those that its own fixes reach; afterwards the
        state is that in which it has landed."""
        hop_checks = [check for check in self.checks if check.applies(step.hop)]
        judge = HopJudge(hop_checks, step, self.planned if last else "", self.asked)
        judge.first(self.inventory)
        work = HopWork(self.inventory, step)
        for _ in range(ROUNDS):
            work.prepare(judge.findings())
            if not judge.again(work.inventory, changed=work.changed, fixes=work.fixes):
                break
        judge.tell_remaining(work.fixes)
        findings = within_size_limit(judge.findings())
        if not last:
            self._remember(judge.answers.values(), hop=step.hop)
            work.land(findings)
            self.inventory = work.inventory
        return findings

    def _remember(self, answers: Iterable[CheckAnswer], *, hop: str) -> None:
        for finding, causes in answers:
            is_asked = finding.status == "manual" or (finding.status == "fail" and bool(finding.remedies))
            if is_asked and finding.id != LANDS and not taken_back((finding,)):
                for cause in causes:
                    self.asked.setdefault((finding.id, cause), ReportedCause(hop, finding.severity))


def walked(
    inventory: Inventory, steps: Sequence[PathHop], *, checks: Sequence[Check], planned: str = ""
) -> Iterator[tuple[Finding, ...]]:
    """The findings of each step, in the order of the path."""
    walk = Walk(noting(inventory), checks, planned)
    for step in steps:
        yield walk.hop(step, last=step is steps[-1])
