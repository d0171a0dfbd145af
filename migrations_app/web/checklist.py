"""Arranges what a report says about one hop: the verdict box, the path, and the sections of the checklist."""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.checks.values import PHASES, Finding, Remedy
from migrations_app.readiness.groups import Group, grouped
from migrations_app.readiness.look import Look
from migrations_app.readiness.next_step import NextStep, next_step
from migrations_app.readiness.report import HopLine, PathStep, Report
from migrations_app.readiness.verdict import order
from migrations_app.web.looks import blocking_look, phase_look

REASONS = 5
SECTIONS: tuple[Look, ...] = (
    Look("Blockers", "blocker", "blocker", "stop this hop", id="blockers"),
    Look("Unknown", "unknown", "unknown", "could not be judged, so nothing is taken for granted", id="unknown"),
    Look("Confirm by hand", "unknown", "manual", "only a person can look", id="manual"),
    Look("Warnings", "warning", "warning", "the hop can be taken, with care", id="warnings"),
    Look("Good to know", "accent", "info", id="infos"),
    Look("Waived", "waived", "waived", "accepted by somebody, for a while", id="waived"),
    Look("Passed", "pass", "pass", id="passed"),
    Look("Not applicable", "muted", "na", id="na"),
)
SETTLED = ("passed", "na")
FOLDED = ("infos", *SETTLED)


@dataclass(frozen=True, slots=True)
class Told:
    """Remedies that help several checks, as the partial of remedies takes those of one."""

    id: str
    title: str
    remedies: tuple[Remedy, ...]


def told_of(group: Group) -> Told:
    return Told(f"group-{group.first.id}", group.summary, group.remedies)


@dataclass(frozen=True, slots=True)
class Section:
    """Part of the checklist. `rows` are the findings again, those that wait for one thing as one row."""

    id: str
    look: Look
    findings: tuple[Finding, ...]
    folded: bool = False
    cluster: str = ""

    @property
    def rows(self) -> tuple[tuple[Group, Told], ...]:
        return tuple((group, told_of(group)) for group in grouped(self.findings, cluster=self.cluster))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a hop is not ready; `url` leads to its row, and is empty where there is none. `checks` share the reason."""

    text: str
    url: str
    look: Look
    checks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One hop as the page shows it. `landed`: behind the cluster, so nothing was asked about it."""

    hop: str = ""
    verdict: str = ""
    release: str = ""
    landed: bool = False
    chosen: bool = False
    done_percent: int = 0
    step: PathStep | None = None
    reasons: tuple[Reason, ...] = ()
    more_reasons: int = 0
    blockers: int = 0
    unknowns: int = 0
    warnings: int = 0
    passed: int = 0
    next: NextStep | None = None

    @property
    def asked(self) -> bool:
        return not self.landed and bool(self.hop)


def hops_of(report: Report, *, chosen: str) -> tuple[Hop, ...]:
    """The hops in the order of the path; exactly one is chosen where there is any."""
    steps = {step.hop: step for step in report.target.path}
    names = [line.hop for line in report.hops]
    wanted = chosen if chosen in names else next((name for name in names if name in steps), names[-1] if names else "")
    return tuple(_hop(line, steps.get(line.hop), report=report, chosen=line.hop == wanted) for line in report.hops)


def _hop(line: HopLine, step: PathStep | None, *, report: Report, chosen: bool) -> Hop:
    findings = [finding for finding in report.checks if finding.hop == line.hop]
    name = report.cluster.name
    following = next_step(line.verdict, findings, release=step.release, cluster=name) if step else None
    reasons = _reasons(findings, cluster=name, told=following.check if following else "")
    told = tuple(Reason(text, "", blocking_look(None)) for text in line.reasons)
    return Hop(
        hop=line.hop,
        verdict=line.verdict,
        release=step.release if step else "",
        landed=step is None,
        chosen=chosen,
        done_percent=line.done_percent,
        step=step,
        reasons=reasons[:REASONS] if step else told,
        more_reasons=max(0, len(reasons) - REASONS),
        blockers=_count(findings, "blockers"),
        unknowns=_count(findings, "unknown") + _count(findings, "manual"),
        warnings=_count(findings, "warnings"),
        passed=_count(findings, "passed"),
        next=following,
    )


def _reasons(findings: Iterable[Finding], *, cluster: str, told: str) -> tuple[Reason, ...]:
    """One line a cause of what keeps the hop from being plainly ready, without the one that was told as the next."""
    waiting = sorted((f for f in findings if f.status in ("fail", "unknown", "manual")), key=order)
    groups = grouped((f for f in waiting if f.severity != "info"), cluster=cluster)
    return tuple(
        Reason(one.summary or one.first.title, f"#check-{one.first.id}", blocking_look(one.first), len(one.findings))
        for one in groups
        if one.first.id != told
    )


def _count(findings: Iterable[Finding], section: str) -> int:
    return sum(section_of(finding) == section for finding in findings)


def section_of(finding: Finding) -> str:
    """The id of the section that a finding stands in."""
    if finding.status == "fail":
        return {"blocker": "blockers", "warning": "warnings", "info": "infos"}[finding.severity]
    return {"pass": "passed", "not_applicable": "na"}.get(finding.status, finding.status)


def by_urgency(findings: Iterable[Finding], *, cluster: str = "") -> tuple[Section, ...]:
    """Blockers first and unknown second; inside a section in the order in which the work is done."""
    ordered = sorted(findings, key=lambda finding: (PHASES.index(finding.phase), finding.severity, finding.id))
    cut = ((look, tuple(f for f in ordered if section_of(f) == look.id)) for look in SECTIONS)
    return tuple(Section(look.id, look, rows, _folds(look.id, rows), cluster) for look, rows in cut if rows)


def _folds(section: str, rows: tuple[Finding, ...]) -> bool:
    """What nobody has to do anything about now: also where only infos wait for a person."""
    return section in FOLDED or (section == "manual" and all(finding.severity == "info" for finding in rows))


def by_phase(findings: Iterable[Finding], *, cluster: str = "") -> tuple[Section, ...]:
    """One section a phase, blockers first inside; what is settled stays folded at the end."""
    rows = tuple(findings)
    live = sorted((f for f in rows if section_of(f) not in SETTLED), key=order)
    cut = ((phase, tuple(f for f in live if f.phase == phase)) for phase in PHASES)
    phases = tuple(Section(f"phase-{phase}", phase_look(phase), held, cluster=cluster) for phase, held in cut if held)
    return phases + tuple(section for section in by_urgency(rows, cluster=cluster) if section.id in SETTLED)
