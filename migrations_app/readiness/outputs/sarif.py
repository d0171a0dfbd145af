"""Writes the report as SARIF 2.1.0 for code scanning services: a result for each cause of a failure, and its rule.

A waived failure is a suppressed result. An unknown check is a notification, never a result, and never left out.
Fingerprints are made of check, hop and object, so that the same cause keeps its history from scan to scan.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from migrations_app import HOME_PAGE
from migrations_app.checks.base import Evidence, Finding
from migrations_app.manifests import JsonMap
from migrations_app.readiness.outputs.json_schema import written
from migrations_app.readiness.outputs.plain import plain
from migrations_app.readiness.outputs.wording import object_line, unanswered_text
from migrations_app.readiness.report import HopLine, PartLine, Report
from migrations_app.readiness.verdict import unanswered_lines

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"blocker": "error", "warning": "warning", "info": "note"}
FAILED = ("fail", "waived")
MAX_RESULTS = 25_000
"""Code scanning services refuse a file with more results."""
OPEN = {"unknown": "could not be told", "manual": "waits for a person"}


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source file: a path with forward slashes, relative to the working folder, and a line number from
    1."""

    file: str
    line: int = 1


PlaceLookup = Callable[[Evidence | None], SourceLine | None]
"""Returns where the object of a piece of evidence is written; for None, the source of the whole cluster."""


def _nowhere(_row: Evidence | None) -> SourceLine | None:
    return None


def render(report: Report, *, version: str = "", places: PlaceLookup = _nowhere) -> str:
    """Returns one SARIF log as JSON. An object that `places` does not find gets a path made of its name in the
    cluster."""
    rules = _rules(report)
    order = {rule["id"]: at for at, rule in enumerate(rules)}
    driver = {"name": "karpdash", "informationUri": HOME_PAGE, "rules": rules}
    driver |= {"semanticVersion": version} if version else {}
    results = [
        (finding, row)
        for finding in sorted((check for check in report.checks if check.status in FAILED), key=_rank)
        for row in finding.evidence or (None,)
    ]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"karpdash/{plain(report.cluster.name)}/"},
        "invocations": [_invocation(report, left_out=len(results[MAX_RESULTS:]))],
        "results": [
            _result(finding, row, report=report, places=places) | {"ruleIndex": order[finding.id]}
            for finding, row in results[:MAX_RESULTS]
        ],
        "columnKind": "unicodeCodePoints",
    }
    return written({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rules(report: Report) -> list[JsonMap]:
    """Returns one rule for each check that failed or is open; its level is that of the strictest hop."""
    findings: dict[str, Finding] = {}
    for finding in report.checks:
        if finding.status not in (*FAILED, *OPEN):
            continue
        former = findings.get(finding.id)
        if former is None or _rank(finding) < _rank(former):
            findings[finding.id] = finding
    return [_rule(findings[name]) for name in sorted(findings)]


def _rank(finding: Finding) -> int:
    return list(LEVELS).index(finding.severity)


def _rule(finding: Finding) -> JsonMap:
    return {
        "id": finding.id,
        "helpUri": f"{HOME_PAGE}/blob/main/docs/checks.md#{finding.id}",
        "shortDescription": {"text": plain(finding.title)},
        "fullDescription": {"text": plain(finding.why) or plain(finding.title)},
        "help": {"text": "\n".join(["Sources:", *map(plain, finding.sources)]) if finding.sources else "karpdash"},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
        "properties": {"phase": finding.phase, "severity": finding.severity},
    }


def _invocation(report: Report, *, left_out: int) -> JsonMap:
    incomplete = [line for line in report.parts if not line.seen or line.quarantined]
    notifications = [{"level": "warning", "message": {"text": plain(_incomplete_part(line))}} for line in incomplete]
    if left_out:
        message = f"{left_out} results of the lowest severity are left out: code scanning takes {MAX_RESULTS}"
        notifications.append({"level": "warning", "message": {"text": message}})
    unanswered = unanswered_lines(report)
    notifications += [{"level": "error", "message": {"text": _unanswered(line)}} for line in unanswered]
    notifications += [_open_notification(finding) for finding in report.checks if finding.status in OPEN]
    successful = report.complete and not unanswered
    return {"executionSuccessful": successful, "toolExecutionNotifications": notifications} | _end_time(report)


def _unanswered(line: HopLine) -> str:
    return plain(f"{line.hop} needs facts: {unanswered_text(line)}")


def _incomplete_part(line: PartLine) -> str:
    if not line.seen:
        return f"{line.name} could not be read: {line.why}"
    return f"{line.name}: {line.quarantined} of {line.count} objects set aside ({line.detail})"


def _open_notification(finding: Finding) -> JsonMap:
    """Returns a notification for a check that is unknown or waits for a person."""
    message = f"{finding.hop} {finding.id} {OPEN[finding.status]}: {finding.summary}"
    return {
        "level": LEVELS[finding.severity],
        "message": {"text": plain(message)},
        "associatedRule": {"id": finding.id},
        "properties": {"hop": finding.hop, "status": finding.status},
    }


def _end_time(report: Report) -> JsonMap:
    return {"endTimeUtc": report.scanned_at} if report.scanned_at.endswith("Z") else {}


def _result(finding: Finding, row: Evidence | None, *, report: Report, places: PlaceLookup) -> JsonMap:
    message = plain(finding.summary) + (f": {object_line(row)}" if row else "")
    return {
        "ruleId": finding.id,
        "kind": "fail",
        "level": LEVELS[finding.severity],
        "message": {"text": message or finding.id},
        "locations": [_physical(row, report, places=places) | {"logicalLocations": [_logical(row, report)]}],
        "partialFingerprints": {"karpdash/v1": _fingerprint(finding, row, report=report)},
        "occurrenceCount": row.count if row else 1,
        "properties": {"hop": finding.hop, "phase": finding.phase, "status": finding.status},
    } | _suppressed(finding)


def _physical(row: Evidence | None, report: Report, *, places: PlaceLookup) -> JsonMap:
    """Returns the location; services refuse a result without a file, so an object without one gets a path of its
    name."""
    where = places(row) or SourceLine("/".join(_path_steps(row, report)))
    location = {"artifactLocation": {"uri": quote(plain(where.file))}, "region": {"startLine": where.line}}
    return {"physicalLocation": location}


def _path_steps(row: Evidence | None, report: Report) -> Iterator[str]:
    """Yields cluster, namespace, kind and name, as far as known; no step is `..` or starts at the root."""
    names = (report.cluster.name, row.namespace, row.kind, row.name) if row else (report.cluster.name,)
    steps = [plain(step).replace("/", "_").strip(".") for step in names]
    yield from [step for step in steps if step] or ["cluster"]


def _logical(row: Evidence | None, report: Report) -> JsonMap:
    cluster = plain(report.cluster.name)
    if row is None:
        return {"fullyQualifiedName": cluster, "kind": "namespace"}
    steps = [step for step in (cluster, row.namespace, row.kind, row.name) if step]
    return {"name": plain(row.name), "fullyQualifiedName": plain("/".join(steps)), "kind": "resource"}


def _fingerprint(finding: Finding, row: Evidence | None, *, report: Report) -> str:
    about = (row.kind, row.namespace, row.name, row.path) if row else ()
    text = "\0".join((report.cluster.name, finding.id, finding.hop, *about))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _suppressed(finding: Finding) -> JsonMap:
    """Returns the suppression of a waived failure, with the text of the waiver as its justification."""
    if finding.status != "waived":
        return {}
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": plain(finding.summary)}]}
