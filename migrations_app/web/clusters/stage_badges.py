"""The badges of a stage of the runbook: what fails in it, what is unknown, what a person verifies."""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.checks.base import Finding
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.readiness.runbook.stages import RunbookStage
from migrations_app.texts import text as _

_BLOCKER = BadgeStyle(_("blocker"), "blocker", "blocker", id="blocker")
_UNKNOWN = BadgeStyle(_("unknown"), "unknown", "unknown", id="unknown")
_VERIFY = BadgeStyle(_("to verify"), "unknown", "manual", id="verify")
_OPEN = BadgeStyle(_("open"), "warning", "warning", id="open")
_NOTE = BadgeStyle(_("note"), "accent", "info", id="note")
_TO_DO = BadgeStyle(_("to do"), "accent", "arrow", id="land")
_OK = BadgeStyle(_("OK"), "pass", "pass", id="clear")
_COUNTABLE = (_BLOCKER, _NOTE)
"""Badges whose word has a plural."""


@dataclass(frozen=True, slots=True)
class StageBadge:
    """One badge; `count` is 0 for one without a number."""

    look: BadgeStyle
    count: int = 0

    @property
    def word(self) -> str:
        """The text after the number."""
        return f"{self.look.word}s" if self.count > 1 and self.look in _COUNTABLE else self.look.word


def stage_badges(stage: RunbookStage, findings: Iterable[Finding]) -> tuple[StageBadge, ...]:
    """Returns the badges, the one that decides the colour first. What is unknown or to be verified has its own."""
    found = tuple(findings)
    failing = [finding for finding in found if finding.status == "fail"]
    questions = tuple(
        StageBadge(look, count)
        for look, status in ((_UNKNOWN, "unknown"), (_VERIFY, "manual"))
        if (count := sum(finding.status == status for finding in found))
    )
    work = _work_badge(stage, failing)
    if not work:
        return questions or (StageBadge(_OK),)
    asks_first = any(finding.open_blocker for finding in found) and work.look not in (_BLOCKER, _TO_DO)
    return (*questions, work) if asks_first else (work, *questions)


def _work_badge(stage: RunbookStage, failing: list[Finding]) -> StageBadge | None:
    """The badge of the commands or of what fails: where it blocks, only blockers count."""
    if stage.commands or stage.part == "verify":
        return StageBadge(_TO_DO)
    if blockers := sum(finding.severity == "blocker" for finding in failing):
        return StageBadge(_BLOCKER, blockers)
    if failing:
        is_open = any(finding.severity == "warning" for finding in failing)
        return StageBadge(_OPEN if is_open else _NOTE, len(failing))
    return None
