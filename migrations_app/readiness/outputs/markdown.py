"""Writes the report as Markdown for a ticket: a table of hops, then each open finding with evidence and remedies."""

import re
from collections.abc import Iterable, Iterator

from migrations_app.checks.base import Remedy
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step
from migrations_app.readiness.outputs.plain import plain, plain_lines
from migrations_app.readiness.outputs.wording import (
    OPEN,
    STAGES,
    VERDICTS,
    completeness,
    counts_text,
    hidden_evidence_line,
    karpenter_line,
    nodes_line,
    object_line,
    unanswered_text,
)
from migrations_app.readiness.report import Report
from migrations_app.readiness.verdict import PATH, unanswered_lines

EVIDENCE_SHOWN = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!&@])")


def render(report: Report) -> str:
    """Returns Markdown with a line break at the end; text from the cluster is escaped."""
    lines = [*_head(report), *_hops(report), *_findings(report), *_waived(report), *_parts(report)]
    return "\n".join(lines).rstrip("\n") + "\n"


def text(value: str) -> str:
    """Returns a text from the cluster on one line, with everything escaped that Markdown or HTML would interpret."""
    return _SPECIAL.sub(r"\\\1", plain(value))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yields the lines of a table; the cells have to be Markdown already."""
    names = list(head)
    yield f"| {' | '.join(names)} |"
    yield f"|{' --- |' * len(names)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def fence(block: str, language: str = "") -> Iterator[str]:
    """Yields a code block whose fence is longer than any run of backticks in it."""
    body = plain_lines(block)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    mark = "`" * max(3, longest + 1)
    yield f"{mark}{language}"
    yield body
    yield mark


def remedies(fixes: tuple[Remedy, ...]) -> Iterator[str]:
    """Yields each remedy under the name of its tool."""
    for remedy in fixes:
        yield ""
        yield f"Remedy by {remedy.how}{f' ({text(remedy.action)})' if remedy.action else ''}:"
        yield ""
        yield from fence(remedy.text)


def _head(report: Report) -> Iterator[str]:
    yield f"# Karpenter readiness of {text(report.cluster.name)}"
    yield ""
    yield f"- Karpenter: {text(karpenter_line(report))}, objects: {STAGES[report.cluster.stage]}"
    yield f"- Kubernetes: {text(report.cluster.kubernetes_version or 'unknown')}"
    no_path = "".join(f": {unanswered_text(line)}" for line in unanswered_lines(report) if line.hop == PATH)
    yield f"- Target: {text(report.target.release or f'none{no_path}')}"
    yield f"- Nodes: {text(nodes_line(report))}"
    yield f"- Scanned: {text(report.scanned_at)}, {completeness(report)}"
    if report.known_up_to:
        yield f"- Known: releases up to {text(str(report.known_up_to))}"
    yield from (f"- Note: {text(note)}" for note in (*report.cluster.disagreements, *report.target.notes))
    yield ""


def _hops(report: Report) -> Iterator[str]:
    releases = {hop.name: hop.release for hop in report.target.path}
    if report.hops:
        yield from table(
            ("Hop", "Target version", "Verdict", "Passed or waived", "Checks"),
            (
                (
                    hop.hop,
                    releases.get(hop.hop, ""),
                    VERDICTS[hop.verdict],
                    f"{hop.done_percent} %",
                    counts_text(hop.counts),
                )
                for hop in report.hops
            ),
        )
        yield ""


def _findings(report: Report) -> Iterator[str]:
    releases = {hop.name: hop.release for hop in report.target.path}
    for hop in report.hops:
        findings = [f for f in report.checks if f.hop == hop.hop and f.status in OPEN]
        if hop.hop in releases:
            yield f"## Hop {hop.hop}"
            yield ""
            following = next_step(hop.verdict, findings, release=releases[hop.hop], cluster=report.cluster.name)
            yield f"**{text(following.safe)}.** Next: {text(following.do)}"
            yield ""
        for group in group_findings(findings, cluster=report.cluster.name):
            yield from group_section(group)


def group_section(group: FindingGroup) -> Iterator[str]:
    """Yields the section of a group: one finding with why and evidence, or several with one cause, and their
    remedies."""
    first = group.first
    if group.alone:
        manual = first.status == "manual"
        yield f"### {first.status}, {first.severity}: {text(first.title if manual else first.summary or first.title)}"
        yield ""
        yield f"{f'{text(first.summary)}. ' if manual else ''}{text(first.why)} (`{first.id}`, {first.phase})"
    else:
        yield f"### {first.status}, {first.severity}: {len(group.findings)} checks depend on one cause"
        yield ""
        check_ids = ", ".join(f"`{finding.id}`" for finding in group.findings)
        yield f"{text(group.summary)} ({check_ids})."
    yield ""
    yield from (f"- {text(object_line(row))}" for row in first.evidence[:EVIDENCE_SHOWN])
    if more := hidden_evidence_line(first, EVIDENCE_SHOWN):
        yield f"- {more}"
    yield from remedies(group.remedies)
    yield ""


def _waived(report: Report) -> Iterator[str]:
    findings = [finding for finding in report.checks if finding.status == "waived"]
    if findings:
        yield "## Waived"
        yield ""
    yield from (f"- `{finding.id}` at {finding.hop}: {text(finding.summary)}" for finding in findings)
    if findings:
        yield ""


def _parts(report: Report) -> Iterator[str]:
    incomplete = [line for line in report.parts if not line.seen or line.quarantined]
    if incomplete:
        yield "## Not read whole"
        yield ""
    for line in incomplete:
        state = line.why if not line.seen else f"{line.quarantined} set aside"
        yield f"- {line.name}: {text(state)}" + (f" ({text(line.detail)})" if line.detail else "")
    other_versions = [line for line in report.parts if line.read_as]
    if other_versions:
        yield from ("", "## Read in another version") if incomplete else ("## Read in another version",)
        yield ""
    yield from (f"- {line.name}: {text(line.read_as)}" for line in other_versions)
