"""Asks the checks of one hop about the state in which it begins, and again about the state after its fixes."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import WEIGHTS, Check, CheckContext, Finding, KubernetesAnswer
from migrations_app.checks.runner import EVIDENCE_KEPT, Cause, CheckAnswer, ReportedCause, answer
from migrations_app.inventory.inventory import TrackedInventory, track_reads
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.runbook.hop_work import MadeFix
from migrations_app.readiness.runbook.work_order import CRDS_INSTALLED_CHECK
from migrations_app.readiness.stage import detect_running_release, stage_of

_TO_FIX = ("fail", "manual")


@dataclass(slots=True)
class HopJudge:
    """The checks of one hop and their answers. `asked` holds the causes that earlier hops ask for."""

    checks: Sequence[Check]
    hop: PathHop
    asked: Mapping[tuple[str, Cause], ReportedCause]
    answers: dict[str, CheckAnswer] = field(default_factory=dict)
    """By check id the answer, in the order of the checks."""
    _reads: dict[str, frozenset[str]] = field(default_factory=dict)
    """By check id the fields of the inventory that the check read."""
    _last_causes: dict[str, frozenset[Cause]] = field(default_factory=dict)
    """By check id its causes in the last state that it judged."""
    _facts: tuple[object, ...] = ()

    def judge(self, inventory: TrackedInventory) -> None:
        """Asks every check about the state in which the hop begins."""
        context = self._context(inventory)
        self._facts = _facts_of(context)
        for check in self.checks:
            self.answers[check.id] = self._ask(check, context)

    def judge_again(self, inventory: TrackedInventory, *, changed: frozenset[str], fixes: Sequence[MadeFix]) -> bool:
        """Asks the checks that read a changed field about a later state; returns whether one has a new cause."""
        context = self._context(inventory)
        all_affected, self._facts = _facts_of(context) != self._facts, _facts_of(context)
        affected = [
            check
            for check in self.checks
            if check.id != CRDS_INSTALLED_CHECK and (all_affected or self._reads[check.id] & changed)
        ]
        return sum(self._has_new_cause(check, context, fixes=fixes) for check in affected) > 0

    def note_remaining_causes(self, fixes: Iterable[MadeFix]) -> None:
        """Adds to the summary of a finding how many of its causes remain although its fixes were applied."""
        by_check: dict[str, bool] = {}
        for fix in fixes:
            by_check[fix.check] = by_check.get(fix.check, True) and fix.complete
        for check in (check for check, complete in by_check.items() if complete):
            first = self.answers[check]
            remaining = len(self._last_causes[check].intersection(first.causes))
            if remaining:
                remaining_summary = (
                    f"{first.finding.summary}; its fix does not clear {remaining} of {len(first.causes)}"
                )
                self.answers[check] = first._replace(finding=replace(first.finding, summary=remaining_summary))

    def judge_later_kubernetes(self, inventory: TrackedInventory) -> None:
        """Asks the checks with a Kubernetes limit how they answer from there on, and adds that to their findings."""
        context = self._context(inventory)
        for check in (check for check in self.checks if check.kubernetes_limits):
            first = self.answers[check.id]
            later = (self._from_kubernetes(check, context, minor=minor) for minor in check.kubernetes_limits)
            finding = replace(first.finding, at_kubernetes=tuple(answer for answer in later if answer))
            self.answers[check.id] = first._replace(finding=finding)

    def _from_kubernetes(self, check: Check, context: CheckContext, *, minor: str) -> KubernetesAnswer | None:
        """The answer from that minor on; None if it is the same. Causes of today stay and are not counted twice."""
        first, this_hop = self.answers[check.id], ReportedCause(self.hop.name, check.severity_for(self.hop.name))
        own_causes = dict.fromkeys(((check.id, cause) for cause in first.causes), this_hop)
        planned = dataclasses.replace(context, planned_kubernetes=minor)
        later = answer(check, planned, asked={**self.asked, **own_causes})
        if later.finding.status in _TO_FIX:
            whole = _with_new_causes(first, later, addition=f"From Kubernetes {minor} on: {later.finding.summary}")
            return _as_kubernetes_answer(whole.finding, minor=minor)
        if later.finding.status == "unknown" and first.finding.status == "pass":
            return _as_kubernetes_answer(later.finding, minor=minor)
        return None

    def findings(self) -> tuple[Finding, ...]:
        """The finding of each check, in the order of the checks."""
        return tuple(check_answer.finding for check_answer in self.answers.values())

    def _has_new_cause(self, check: Check, context: CheckContext, *, fixes: Sequence[MadeFix]) -> bool:
        first = self.answers[check.id]
        this_hop = ReportedCause(self.hop.name, first.finding.severity)
        later = self._ask(
            check, context, own_causes=dict.fromkeys(((check.id, cause) for cause in first.causes), this_hop)
        )
        first_causes = frozenset(first.causes)
        new_causes = [cause for cause in later.causes if cause not in first_causes]
        if later.finding.status not in _TO_FIX or not new_causes:
            return False
        bringing_checks = (
            fix.check for fix in fixes if new_causes[0] in answer(check, self._context(fix.after)).causes
        )
        bringing = next(bringing_checks, "")
        self.answers[check.id] = _with_new_causes(
            first,
            later._replace(causes=tuple(new_causes)),
            addition=_when(bringing, later.finding),
            bringing_check=bringing,
        )
        return True

    def _ask(
        self, check: Check, context: CheckContext, *, own_causes: Mapping[Any, ReportedCause] | None = None
    ) -> CheckAnswer:
        inventory = track_reads(context.inventory)
        asked_causes = {**self.asked, **own_causes} if own_causes else self.asked
        check_answer, self._reads[check.id] = inventory.reading(lambda: answer(check, context, asked=asked_causes))
        self._last_causes[check.id] = frozenset(check_answer.causes)
        return check_answer

    def _context(self, inventory: TrackedInventory) -> CheckContext:
        running = detect_running_release(inventory)
        return CheckContext(inventory, self.hop, running, stage_of(inventory, running), inventory.taken_at)


def _facts_of(context: CheckContext) -> tuple[object, ...]:
    """What a check can read beside the inventory: the running version and the stage."""
    return context.running.release, context.running.minors, context.stage


def _when(bringing_check: str, later: Finding) -> str:
    """Says when causes appear that the fix of that check brings, or the course of the hop if it is empty."""
    start = f"Once the fix of {bringing_check} is made" if bringing_check else "In the course of the upgrade"
    return f"{start}: {later.summary}"


def _as_kubernetes_answer(finding: Finding, *, minor: str) -> KubernetesAnswer:
    return KubernetesAnswer(
        kubernetes=minor,
        status=finding.status,
        severity=finding.severity,
        summary=finding.summary,
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
        evidence=finding.evidence,
        remedies=finding.remedies,
    )


def _with_new_causes(
    first_answer: CheckAnswer, later_answer: CheckAnswer, *, addition: str, bringing_check: str = ""
) -> CheckAnswer:
    """The first answer with the new causes added. `addition` tells of them, and when they appear; `bringing_check` is
    the check whose fix brings them; may be empty."""
    later, first = later_answer.finding, first_answer.finding
    if first.status not in _TO_FIX:
        return CheckAnswer(replace(later, summary=addition, follows=bringing_check), later_answer.causes)
    merged = replace(
        first,
        status="fail" if "fail" in (first.status, later.status) else "manual",
        severity=max(first.severity, later.severity, key=WEIGHTS.index),
        summary=f"{first.summary}. {addition}",
        evidence=(*first.evidence, *later.evidence)[:EVIDENCE_KEPT],
        evidence_total=first.evidence_total + later.evidence_total,
        evidence_exact=first.evidence_exact and later.evidence_exact,
        remedies=tuple(dict.fromkeys((*first.remedies, *later.remedies))),
        asks=_questions_of(first, later),
    )
    return CheckAnswer(merged, (*first_answer.causes, *later_answer.causes))


def _questions_of(first: Finding, later: Finding) -> tuple[str, ...] | UnsetType:
    digests = [finding.asks for finding in (first, later) if not isinstance(finding.asks, UnsetType)]
    return tuple(dict.fromkeys(digest for asks in digests for digest in asks)) if digests else UNSET
