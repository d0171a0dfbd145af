"""Groups the checklist of one upgrade into sections, each in the order of the work."""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.checks.base import PHASES, Finding, Remedy
from migrations_app.readiness.next_step import FindingGroup, group_findings
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.readiness.runbook.work_order import in_stage_order
from migrations_app.readiness.verdict import finding_sort_key
from migrations_app.texts import text as _

PHASE_WORDS = {"iam": "IAM", "crds": "CRDs", "cleanup": "Clean-up"}


def phase_style(phase: str) -> BadgeStyle:
    return BadgeStyle(PHASE_WORDS.get(phase, phase.capitalize()), "muted", "", id=phase)


SECTIONS: tuple[BadgeStyle, ...] = (
    BadgeStyle(_("Blockers"), "blocker", "blocker", _("in the order of the work"), id="blockers"),
    BadgeStyle(_("Unknown"), "unknown", "unknown", _("could not be checked; treated as not passed"), id="unknown"),
    BadgeStyle(_("Verify manually"), "unknown", "manual", _("karpdash cannot check this"), id="manual"),
    BadgeStyle(_("Warnings"), "warning", "warning", _("do not block the upgrade"), id="warnings"),
    BadgeStyle(_("Info"), "accent", "info", id="infos"),
    BadgeStyle(_("Waived"), "waived", "waived", _("accepted temporarily"), id="waived"),
    BadgeStyle(_("Passed"), "pass", "pass", id="passed"),
    BadgeStyle(_("Not applicable"), "muted", "na", id="na"),
)
SETTLED = ("passed", "na")
FOLDED = ("infos", *SETTLED)


@dataclass(frozen=True, slots=True)
class SharedRemedies:
    """Remedies for several checks, with the attributes that the template for one check's remedies reads."""

    id: str
    title: str
    remedies: tuple[Remedy, ...]


def remedies_of(group: FindingGroup) -> SharedRemedies:
    return SharedRemedies(f"group-{group.first.id}", group.summary, group.remedies)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the checklist. `rows` are the findings by common cause; `numbered` if its order is the order of the
    work.
    """

    id: str
    look: BadgeStyle
    findings: tuple[Finding, ...]
    folded: bool = False
    cluster: str = ""

    @property
    def numbered(self) -> bool:
        return self.id == "blockers"

    @property
    def rows(self) -> tuple[tuple[FindingGroup, SharedRemedies], ...]:
        return tuple((group, remedies_of(group)) for group in group_findings(self.findings, cluster=self.cluster))


def section_of(finding: Finding) -> str:
    """Returns the id of the section that a finding belongs to."""
    if finding.status == "fail":
        return {"blocker": "blockers", "warning": "warnings", "info": "infos"}[finding.severity]
    return {"pass": "passed", "not_applicable": "na"}.get(finding.status, finding.status)


def by_urgency(findings: Iterable[Finding], *, cluster: str = "", release: str = "") -> tuple[Section, ...]:
    """Returns the sections by urgency, blockers first, unknown second; within a section in the order of the work."""
    ordered = in_stage_order(findings, release=release)
    cut = ((look, tuple(f for f in ordered if section_of(f) == look.id)) for look in SECTIONS)
    return tuple(Section(look.id, look, rows, _is_folded(look.id, rows), cluster) for look, rows in cut if rows)


def _is_folded(section: str, rows: tuple[Finding, ...]) -> bool:
    """Whether the section is folded: it needs no action now, or only infos are to be confirmed by hand."""
    return section in FOLDED or (section == "manual" and all(finding.severity == "info" for finding in rows))


def by_phase(findings: Iterable[Finding], *, cluster: str = "") -> tuple[Section, ...]:
    """Returns one section for each phase, blockers first; passed and not applicable findings are folded at the end."""
    rows = tuple(findings)
    live = sorted((f for f in rows if section_of(f) not in SETTLED), key=finding_sort_key)
    cut = ((phase, tuple(f for f in live if f.phase == phase)) for phase in PHASES)
    phases = tuple(
        Section(f"phase-{phase}", phase_style(phase), phase_findings, cluster=cluster)
        for phase, phase_findings in cut
        if phase_findings
    )
    return phases + tuple(section for section in by_urgency(rows, cluster=cluster) if section.id in SETTLED)
