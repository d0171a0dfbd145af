"""The report as SARIF 2.1.0: a rule for each check, a result for each cause; a waived finding is suppressed, not gone.

Fingerprints are made of check, hop and object, so that the same cause keeps its history from scan to scan.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Evidence, Finding
from migrations_app.readiness.outputs.json_schema import written
from migrations_app.readiness.outputs.plain import plain
from migrations_app.readiness.outputs.wording import object_line
from migrations_app.readiness.report import PartLine, Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"blocker": "error", "warning": "warning", "info": "note"}
KINDS = {
    "pass": "pass",
    "fail": "fail",
    "waived": "fail",
    "unknown": "open",
    "manual": "review",
    "not_applicable": "notApplicable",
}
Tree = dict[str, Any]


def render(report: Report, *, version: str = "") -> str:
    """One SARIF log as JSON. Passed and inapplicable checks are results too, of their own kind."""
    rules = _rules(report)
    order = {rule["id"]: at for at, rule in enumerate(rules)}
    driver = {"name": "karpdash", "rules": rules} | ({"semanticVersion": version} if version else {})
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"karpdash/{plain(report.cluster.name)}/"},
        "invocations": [_invocation(report)],
        "results": [result for finding in report.checks for result in _results(finding, report, order=order)],
        "columnKind": "unicodeCodePoints",
    }
    return written({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rules(report: Report) -> list[Tree]:
    """One rule a check, with the severity of its strictest hop as the default level."""
    found: dict[str, Finding] = {}
    for finding in report.checks:
        kept = found.get(finding.id)
        if kept is None or _rank(finding) < _rank(kept):
            found[finding.id] = finding
    return [_rule(found[name]) for name in sorted(found)]


def _rank(finding: Finding) -> int:
    return list(LEVELS).index(finding.severity)


def _rule(finding: Finding) -> Tree:
    return {
        "id": finding.id,
        "shortDescription": {"text": plain(finding.title)},
        "fullDescription": {"text": plain(finding.why) or plain(finding.title)},
        "help": {"text": "\n".join(["Sources:", *map(plain, finding.sources)]) if finding.sources else "karpdash"},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
        "properties": {"phase": finding.phase, "severity": finding.severity},
    }


def _invocation(report: Report) -> Tree:
    short = [line for line in report.parts if not line.seen or line.quarantined]
    notes = [{"level": "warning", "message": {"text": plain(_short(line))}} for line in short]
    return {"executionSuccessful": report.complete, "toolExecutionNotifications": notes} | _ended(report)


def _short(line: PartLine) -> str:
    if not line.seen:
        return f"{line.name} could not be read: {line.why}"
    return f"{line.name}: {line.quarantined} of {line.count} objects set aside ({line.detail})"


def _ended(report: Report) -> Tree:
    return {"endTimeUtc": report.scanned_at} if report.scanned_at.endswith("Z") else {}


def _results(finding: Finding, report: Report, *, order: dict[str, int]) -> Iterator[Tree]:
    for row in finding.evidence or (None,):
        yield _result(finding, row, report=report) | {"ruleIndex": order[finding.id]}


def _result(finding: Finding, row: Evidence | None, *, report: Report) -> Tree:
    kind = KINDS[finding.status]
    told = plain(finding.summary) + (f": {object_line(row)}" if row else "")
    return {
        "ruleId": finding.id,
        "kind": kind,
        "level": LEVELS[finding.severity] if kind == "fail" else "none",
        "message": {"text": told or finding.id},
        "locations": [{"logicalLocations": [_place(row, report)]}],
        "partialFingerprints": {"karpdash/v1": _fingerprint(finding, row, report=report)},
        "occurrenceCount": row.count if row else 1,
        "properties": {"hop": finding.hop, "phase": finding.phase, "status": finding.status},
    } | _suppressed(finding)


def _place(row: Evidence | None, report: Report) -> Tree:
    cluster = plain(report.cluster.name)
    if row is None:
        return {"fullyQualifiedName": cluster, "kind": "namespace"}
    steps = [step for step in (cluster, row.namespace, row.kind, row.name) if step]
    return {"name": plain(row.name), "fullyQualifiedName": plain("/".join(steps)), "kind": "resource"}


def _fingerprint(finding: Finding, row: Evidence | None, *, report: Report) -> str:
    about = (row.kind, row.namespace, row.name, row.path) if row else ()
    text = "\0".join((report.cluster.name, finding.id, finding.hop, *about))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _suppressed(finding: Finding) -> Tree:
    """A waiver of karpdash is kept outside the code, with its words as the justification."""
    if finding.status != "waived":
        return {}
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": plain(finding.summary)}]}
