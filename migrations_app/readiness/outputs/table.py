"""Writes the report as plain text for a terminal: verdicts first, then open findings; passed checks are only
counted."""

from collections.abc import Callable, Iterator

from migrations_app.checks.base import Finding
from migrations_app.readiness.next_step import FindingGroup, OpenQuestion, group_findings, next_step
from migrations_app.readiness.outputs.plain import plain, plain_lines
from migrations_app.readiness.outputs.wording import (
    OPEN,
    STAGES,
    VERDICTS,
    check_ids,
    completeness,
    counts_text,
    hidden_evidence_line,
    karpenter_line,
    nodes_line,
    object_line,
    path_line,
    unanswered_text,
)
from migrations_app.readiness.report import Counts, HopLine, PartLine, Report
from migrations_app.readiness.verdict import PATH, unanswered_lines

EVIDENCE_SHOWN = 5
REMEDY_LINES = 12
_MARKS = {"fail": "x", "unknown": "?", "manual": "!", "waived": "~"}
_COLOURS = {
    "blocked": "31",
    "fail": "31",
    "needs_facts": "35",
    "unknown": "35",
    "manual": "35",
    "ready_with_warnings": "33",
    "warning": "33",
    "waived": "2",
    "ready": "32",
    "done": "32",
    "in_progress": "36",
    "later": "2",
    "head": "1",
}
Paint = Callable[[str, str], str]


def render(report: Report, *, colour: bool = False) -> str:
    """Returns text with a line break at the end. `colour` adds ANSI colours; no word is replaced by a colour."""
    paint = _ansi if colour else _bare
    lines = [*_head(report, paint), *_hops(report, paint), *_parts(report), *_anomalies(report)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _bare(_name: str, text: str) -> str:
    return text


def _ansi(name: str, text: str) -> str:
    code = _COLOURS.get(name)
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _head(report: Report, paint: Paint) -> Iterator[str]:
    facts = report.cluster
    yield f"Cluster     {paint('head', plain(facts.name))}"
    yield f"Karpenter   {karpenter_line(report)}, objects: {STAGES[facts.stage]}"
    yield f"Kubernetes  {plain(facts.kubernetes_version or 'unknown')}"
    yield f"Nodes       {nodes_line(report)}"
    yield f"Scanned     {plain(report.scanned_at)}, {completeness(report)}"
    if report.known_up_to:
        yield f"Known       releases up to {report.known_up_to}"
    if report.target.release:
        way = f" by {path_line(report.target.path)}" if report.target.path else ""
        yield f"Target      {report.target.release}{way}"
    no_path = (line for line in unanswered_lines(report) if line.hop == PATH)
    yield from (f"Target      none: {plain(unanswered_text(line))}" for line in no_path)
    yield from (f"Note        {plain(note)}" for note in (*facts.disagreements, *report.target.notes))


def _hops(report: Report, paint: Paint) -> Iterator[str]:
    questions: set[OpenQuestion] = set()
    unanswered = {line.hop for line in unanswered_lines(report)}
    for hop in report.hops:
        yield ""
        yield _hop_line(hop, report, paint=paint)
        if hop.hop in unanswered:
            yield f"  Cannot tell: {plain(unanswered_text(hop))}"
        findings = [check for check in report.checks if check.hop == hop.hop]
        yield from _next_step_line(hop, findings, report=report)
        groups = group_findings(
            (finding for finding in findings if finding.status in (*OPEN, "waived")), cluster=report.cluster.name
        )
        for group in groups:
            if group.severity != "info":
                yield from _group(group, paint, questions=questions)
        yield from _infos([group for group in groups if group.severity == "info"])


def _hop_line(hop: HopLine, report: Report, *, paint: Paint) -> str:
    release = _release(hop, report)
    arrow = f" -> {release}" if release else ""
    verdict = paint(hop.verdict, VERDICTS[hop.verdict].upper())
    counted_text = f"  ({counts_text(hop.counts)})" if arrow or hop.counts != Counts() else ""
    return f"Hop {hop.hop}{arrow}  {verdict}  {hop.done_percent} % of checks passed or waived{counted_text}"


def _release(hop: HopLine, report: Report) -> str:
    return next((report_hop.release for report_hop in report.target.path if report_hop.name == hop.hop), "")


def _next_step_line(hop: HopLine, findings: list[Finding], *, report: Report) -> Iterator[str]:
    """Yields the next step of a hop ahead; the current hop has none."""
    release = _release(hop, report)
    if release:
        following = next_step(hop.verdict, findings, release=release, cluster=report.cluster.name)
        yield f"  {following.safe}. Next: {plain(following.do)}"


def _group(group: FindingGroup, paint: Paint, *, questions: set[OpenQuestion]) -> Iterator[str]:
    """Yields the lines of one cause. The remedy of an unknown cause is printed once, at the first hop that has it."""
    first = group.first
    mark = paint(first.status, f"{_MARKS[first.status]} {first.status:<7}")
    if group.alone:
        yield f"  {mark} {first.severity:<7} {first.phase:<10} {first.id}: {plain(first.summary)}"
    else:
        yield f"  {mark} {first.severity:<7} {len(group.findings):>3} checks {plain(group.summary)}"
        yield f"      {check_ids(group)}"
    if first.status == "waived":
        return
    yield from (f"      - {object_line(row)}" for row in first.evidence[:EVIDENCE_SHOWN])
    if more := hidden_evidence_line(first, EVIDENCE_SHOWN):
        yield f"      - {more}"
    if first.status != "unknown" or group.cause not in questions:
        yield from _remedy(group)
    questions.add(group.cause)


def _infos(groups: list[FindingGroup]) -> Iterator[str]:
    """Yields one line for each group of findings with severity info."""
    if groups:
        yield f"  Info: {len(groups)}"
    for group in groups:
        yield f"    {_MARKS[group.status]} {check_ids(group)}: {plain(group.summary)}"


def _remedy(group: FindingGroup) -> Iterator[str]:
    """Yields the first remedy only; the others are in the JSON and in the runbook."""
    for remedy in group.remedies[:1]:
        lines = plain_lines(remedy.text).splitlines()
        yield f"      fix ({remedy.how}): {lines[0] if lines else ''}"
        yield from (f"          {line}" for line in lines[1:REMEDY_LINES])
        if len(lines) > REMEDY_LINES:
            yield f"          ... {len(lines) - REMEDY_LINES} more lines, see: karpdash plan"


def _parts(report: Report) -> Iterator[str]:
    incomplete = [line for line in report.parts if not line.seen or line.quarantined]
    if incomplete:
        yield ""
        yield "Not read whole"
    yield from (f"  {_part(line)}" for line in incomplete)
    other_versions = [line for line in report.parts if line.read_as]
    if other_versions:
        yield ""
        yield "Read in another version"
    yield from (plain(f"  {line.name}: {line.read_as}") for line in other_versions)


def _part(line: PartLine) -> str:
    if not line.seen:
        return plain(f"{line.name}: {line.why}" + (f" ({line.detail})" if line.detail else ""))
    return plain(f"{line.name}: {line.quarantined} of {line.count} objects set aside ({line.detail})")


def _anomalies(report: Report) -> Iterator[str]:
    if report.anomalies:
        yield ""
        yield f"Ownership that does not add up: {len(report.anomalies)}"
    for row in report.anomalies[:EVIDENCE_SHOWN]:
        yield plain(f"  {row.kind} {row.name}: {row.id}" + (f" ({row.detail})" if row.detail else ""))
    if len(report.anomalies) > EVIDENCE_SHOWN:
        yield f"  and {len(report.anomalies) - EVIDENCE_SHOWN} more"
