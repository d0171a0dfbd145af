"""Puts a cluster of documents through a whole scan, as `karpdash scan --bundle` does, and tells what it says."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from migrations_app.checks.base import Finding
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.samples.kubernetes_objects import server_version
from tests.acceptance.clusters import Clean

Document = dict[str, Any]


def collected(name: str, files: Mapping[str, bytes]) -> CollectResult:
    return collect(open_bundle(dict(files)), cluster=name)


def as_list(documents: Iterable[Document], *, kubernetes: str) -> dict[str, bytes]:
    """The files of a bundle: one List in JSON, and what GET /version answers."""
    whole = {"apiVersion": "v1", "kind": "List", "items": list(documents), "metadata": {"resourceVersion": ""}}
    version = json.dumps(server_version(kubernetes)).encode()
    return {"objects.json": json.dumps(whole).encode(), "version.json": version}


def judged(clean: Clean, documents: Iterable[Document], *, kubernetes: str = "") -> Report:
    """The report on these documents."""
    files = as_list(documents, kubernetes=kubernetes or clean.kubernetes)
    return evaluate(collected(clean.name, files)).report


def at(report: Report, hop: str) -> tuple[Finding, ...]:
    """The findings at that hop."""
    return tuple(finding for finding in report.checks if finding.hop == hop)


def loud(findings: Iterable[Finding]) -> set[str]:
    """The checks that fail as a blocker or a warning."""
    return {one.id for one in findings if one.status == "fail" and one.severity != "info"}


def said(report: Report, hop: str) -> list[tuple[str, str, str]]:
    """Check, status and severity at that hop, with what was wrong: all that two reports are compared by."""
    return sorted((one.id, one.status, one.severity) for one in at(report, hop))


def open_questions(findings: Iterable[Finding]) -> dict[str, str]:
    """What could not be told, but for what only AWS knows."""
    return {one.id: one.summary for one in findings if one.status == "unknown" and "AWS" not in one.summary}


def crashes(report: Report) -> list[str]:
    return [one.summary for one in report.checks if one.summary.startswith("check failed")]
