"""Puts the checks of one hop to the state that it begins in, and again to the state that its own work reaches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import WEIGHTS, Check, CheckContext, Finding
from migrations_app.checks.runner import EVIDENCE_KEPT, Cause, CheckAnswer, ReportedCause, answer
from migrations_app.inventory.inventory import NotingInventory, noting
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.plan.hop_work import MadeFix
from migrations_app.readiness.plan.work_order import LANDS
from migrations_app.readiness.stage import detect_running_release, stage_of

_ASKS = ("fail", "manual")


@dataclass(slots=True)
class HopJudge:
    """`checks` are those of the hop. `asked` is what earlier hops ask for, `planned` the Kubernetes minor that the hop
    is asked about, if any."""

    checks: Sequence[Check]
    step: PathHop
    planned: str
    asked: Mapping[tuple[str, Cause], ReportedCause]
    answers: dict[str, CheckAnswer] = field(default_factory=dict)
    """By the id of each check what it says, in the order of the checks."""
    _reads: dict[str, frozenset[str]] = field(default_factory=dict)
    """By the id of each check the fields of the inventory that it read."""
    _there: dict[str, frozenset[Cause]] = field(default_factory=dict)
    """By the id of each check its causes in the state that it was put to last."""
    _begins: tuple[object, ...] = ()

    def first(self, inventory: NotingInventory) -> None:
        """Puts every check to the state that the hop begins in."""
        case = self._case(inventory)
        self._begins = _about(case)
        for check in self.checks:
            self.answers[check.id] = self._ask(check, case)

    def again(self, inventory: NotingInventory, *, changed: frozenset[str], fixes: Sequence[MadeFix]) -> bool:
        """Puts those that read what has changed to a later state; whether one of them asks for anything new."""
        case = self._case(inventory)
        every, self._begins = _about(case) != self._begins, _about(case)
        affected = [check for check in self.checks if check.id != LANDS and (every or self._reads[check.id] & changed)]
        return sum(self._asks_anew(check, case, fixes=fixes) for check in affected) > 0

    def tell_remaining(self, fixes: Iterable[MadeFix]) -> None:
        """Says of each finding what is still there although its own fixes were made."""
        by_check: dict[str, bool] = {}
        for fix in fixes:
            by_check[fix.check] = by_check.get(fix.check, True) and fix.whole
        for name in (name for name, whole in by_check.items() if whole):
            known = self.answers[name]
            left = len(self._there[name].intersection(known.causes))
            if left:
                remaining_summary = f"{known.finding.summary}; its fix does not clear {left} of {len(known.causes)}"
                self.answers[name] = known._replace(finding=replace(known.finding, summary=remaining_summary))

    def findings(self) -> tuple[Finding, ...]:
        """What each check says, in the order of the checks."""
        return tuple(check_answer.finding for check_answer in self.answers.values())

    def _asks_anew(self, check: Check, case: CheckContext, *, fixes: Sequence[MadeFix]) -> bool:
        before = self.answers[check.id]
        here = ReportedCause(self.step.hop, before.finding.severity)
        now = self._ask(check, case, known=dict.fromkeys(((check.id, cause) for cause in before.causes), here))
        known = frozenset(before.causes)
        new = [cause for cause in now.causes if cause not in known]
        if now.finding.status not in _ASKS or not new:
            return False
        brought = (fix.check for fix in fixes if new[0] in answer(check, self._case(fix.after)).causes)
        self.answers[check.id] = _with_new(before, now._replace(causes=tuple(new)), brought=next(brought, ""))
        return True

    def _ask(
        self, check: Check, case: CheckContext, *, known: Mapping[Any, ReportedCause] | None = None
    ) -> CheckAnswer:
        inventory = noting(case.inventory)
        asked_causes = {**self.asked, **known} if known else self.asked
        check_answer, self._reads[check.id] = inventory.reading(lambda: answer(check, case, asked=asked_causes))
        self._there[check.id] = frozenset(check_answer.causes)
        return check_answer

    def _case(self, inventory: NotingInventory) -> CheckContext:
        running = detect_running_release(inventory)
        return CheckContext(
            inventory, self.step, running, stage_of(inventory, running), inventory.taken_at,
            planned_kubernetes=self.planned,
        )  # fmt: skip


def _about(case: CheckContext) -> tuple[object, ...]:
    """What every check is told beside the inventory."""
    return case.running.release, case.running.minors, case.stage


def _with_new(before: CheckAnswer, now: CheckAnswer, *, brought: str) -> CheckAnswer:
    """The answer with what was not there at first, and the check whose fix brings it."""
    new, old = now.finding, before.finding
    addition = (
        f"Once the fix of {brought} is made: {new.summary}" if brought else f"In the course of the hop: {new.summary}"
    )
    if old.status not in _ASKS:
        return CheckAnswer(replace(new, summary=addition, follows=brought), now.causes)
    both = replace(
        old,
        status="fail" if "fail" in (old.status, new.status) else "manual",
        severity=max(old.severity, new.severity, key=WEIGHTS.index),
        summary=f"{old.summary}. {addition}",
        evidence=(*old.evidence, *new.evidence)[:EVIDENCE_KEPT],
        evidence_total=old.evidence_total + new.evidence_total,
        evidence_exact=old.evidence_exact and new.evidence_exact,
        remedies=tuple(dict.fromkeys((*old.remedies, *new.remedies))),
        asks=_both_ask(old, new),
    )
    return CheckAnswer(both, (*before.causes, *now.causes))


def _both_ask(old: Finding, new: Finding) -> tuple[str, ...] | UnsetType:
    digests = [finding.asks for finding in (old, new) if not isinstance(finding.asks, UnsetType)]
    return tuple(dict.fromkeys(digest for asks in digests for digest in asks)) if digests else UNSET
