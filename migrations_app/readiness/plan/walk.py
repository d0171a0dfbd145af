"""Walks the hops of a path in order: each is judged by the state that it begins in.

At a hop every check is put to the inventory as it is then. The fixes are made by their effects, in the order of the
work; where one has no effect that can be told, its cause is remembered and not asked for again: it is unknown until the
cluster is scanned again. Then the release lands, and the walk goes on with what is reached.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from msgspec import UNSET

from migrations_app.checks.base import Check, CheckContext, Finding
from migrations_app.checks.changes import Change, HelmChange, KarpdashAction
from migrations_app.checks.remedies.successors import CONVERTS
from migrations_app.checks.runner import AskedCause, Cause, CheckAnswer, answer, bounded
from migrations_app.inventory.inventory import AWS_PREFIX, Inventory, NotingInventory, noting
from migrations_app.inventory.parts import AHEAD, Seen, Unseen
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.plan.effects.effect import after_all
from migrations_app.readiness.plan.effects.landing import landed
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_parts
from migrations_app.readiness.plan.effects.succession import succeeded
from migrations_app.readiness.plan.work_order import LANDS, by_work, in_turn, parts_of, taken_back
from migrations_app.readiness.stage import detect_running_release, stage_of

CLAIMS = ("machines", "nodeclaims")
REPLACED = ("nodeclaims", "aws.instances")
"""Parts that nobody knows once nodes are replaced."""
SUCCESSORS = ("nodepools", "ec2nodeclasses")
"""Parts that nobody knows once a person has made them."""
_ASKS = ("fail", "manual")


@dataclass(slots=True)
class Walk:
    """Goes from hop to hop. `planned` is the Kubernetes minor that the last step is asked about, if any."""

    inventory: NotingInventory
    checks: Sequence[Check]
    planned: str = ""
    asked: dict[tuple[str, Cause], AskedCause] = field(default_factory=dict)

    def hop(self, step: PathHop, *, last: bool) -> tuple[Finding, ...]:
        """The findings of the hop in the state that it begins in; afterwards the state is that in which it has
        landed."""
        case = self._case(step, last=last)
        answers = [self._answer(check, case) for check in self.checks if check.applies(step.hop)]
        found = bounded(tuple(one.finding for one in answers))
        if not last:
            self._remember(answers, hop=step.hop)
            self.inventory = landed_after(self.inventory, found, step=step)
        return found

    def _case(self, step: PathHop, *, last: bool) -> CheckContext:
        running = detect_running_release(self.inventory)
        return CheckContext(
            self.inventory, step, running, stage_of(self.inventory, running), self.inventory.taken_at,
            planned_kubernetes=self.planned if last else "",
        )  # fmt: skip

    def _answer(self, check: Check, case: CheckContext) -> CheckAnswer:
        return answer(check, case, asked=self.asked)

    def _remember(self, answers: Iterable[CheckAnswer], *, hop: str) -> None:
        for finding, causes in answers:
            told = finding.status == "manual" or (finding.status == "fail" and bool(finding.remedies))
            if told and finding.id != LANDS and not taken_back((finding,)):
                for cause in causes:
                    self.asked.setdefault((finding.id, cause), AskedCause(hop, finding.severity))


def walked(
    inventory: Inventory, steps: Sequence[PathHop], *, checks: Sequence[Check], planned: str = ""
) -> Iterator[tuple[Finding, ...]]:
    """The findings of each step, in the order of the path."""
    walk = Walk(noting(inventory), checks, planned)
    for step in steps:
        yield walk.hop(step, last=step is steps[-1])


def landed_after(inventory: NotingInventory, findings: Sequence[Finding], *, step: PathHop) -> NotingInventory:
    """The state after every fix whose effect can be told, and the landing of the step. Blockers are cleared before a
    hop lands, whoever does it, so what waits for another fix is made after it, even if that has no effect to show."""
    work, order = _work_of(inventory, findings, step=step)
    for part in ("before", "land"):
        work.make(order[part])
    work.take(landed(work.inventory, step.release, values=work.landing))
    work.make_each(taken_back(findings))
    work.make(order["after"])
    return work.inventory


def ready_to_land(inventory: NotingInventory, findings: Sequence[Finding], *, step: PathHop) -> NotingInventory:
    """The state after every fix before the landing whose effect can be told."""
    work, order = _work_of(inventory, findings, step=step)
    work.make(order["before"])
    return work.inventory


def _work_of(
    inventory: NotingInventory, findings: Sequence[Finding], *, step: PathHop
) -> tuple["_HopWork", dict[str, list[Finding]]]:
    """The work of the hop, with its findings in order by their part of it."""
    parts = parts_of(findings, release=str(step.release))
    order: dict[str, list[Finding]] = {"before": [], "land": [], "after": []}
    for one in in_turn(sorted((one for one in findings if one.status in _ASKS), key=by_work)):
        order.setdefault(parts[one.id], []).append(one)
    return _HopWork(inventory, lands=str(step.release), hop=step.hop), order


@dataclass(slots=True)
class _HopWork:
    """Makes the fixes of a hop one after the other; `landing` are changes of values that the landing makes."""

    inventory: NotingInventory
    lands: str
    hop: str
    landing: list[HelmChange] = field(default_factory=list)

    def make(self, findings: Iterable[Finding]) -> None:
        """All changes of each finding, each once."""
        for finding in findings:
            changes = changes_of(finding)
            with_landing = [one for one in changes if isinstance(one, HelmChange) and self._lands(one)]
            self.landing += with_landing
            self._make([one for one in changes if one not in with_landing])

    def make_each(self, changes: Iterable[Change]) -> None:
        """These changes, each by itself."""
        for one in changes:
            self._make([one])

    def _lands(self, change: HelmChange) -> bool:
        return change.when == "landing" or change.reaches(self.lands)

    def _make(self, changes: list[Change]) -> None:
        converts = [one for one in changes if isinstance(one, KarpdashAction) and one.action == CONVERTS]
        if converts:
            made = succeeded(self.inventory)
            self.take(self._ahead(SUCCESSORS) if isinstance(made, NotShown) else made)
        after = after_all(self.inventory, (one for one in changes if one not in converts))
        if isinstance(after, NotShown):
            return
        replaced = any(len(after.part(name).items) < len(self.inventory.part(name).items) for name in CLAIMS)
        self.take(after)
        if replaced:
            self.take(self._ahead(REPLACED))

    def take(self, after: Inventory) -> None:
        """Goes on with that state, and with every fact that it leaves as it was."""
        reached = noting(after)
        reached.after(self.inventory)
        self.inventory = reached

    def _ahead(self, names: Sequence[str]) -> Inventory:
        """With these parts as what nobody knows before the hop is done."""
        unseen = Unseen(AHEAD, self.hop)
        aws = self.inventory.aws
        if "aws.instances" in names and isinstance(aws.instances, Seen):
            aws = replace(aws, instances=unseen)
        own = {name: unseen for name in names if not name.startswith(AWS_PREFIX)}
        return with_parts(replace(self.inventory, aws=aws), own)


def changes_of(finding: Finding) -> list[Change]:
    """Each change of the remedies once: those of all tools carry the same ones."""
    return list(dict.fromkeys(one.change for one in finding.remedies if one.change is not UNSET))
