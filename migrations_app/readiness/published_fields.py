"""Removes from reports and runbooks the fields that are not part of the published JSON."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import ClusterFacts, PartLine, Report
from migrations_app.readiness.runbook.runbook import Runbook

PLAN: Final = "karpdash/plan/v1"
TYPED_PLAN: Final = "karpdash/plan/v2"
INTERNAL: Final[Mapping[str, tuple[str, ...]]] = {
    "Evidence": ("data",),
    "Finding": ("reason", "asks", "follows", "at_kubernetes"),
    "Installed": (
        "carriers",
        "chart_deletes",
        "controller",
        "crd_keeper",
        "crd_release",
        "git",
        "given",
        "kept_webhooks",
        "without_release",
    ),
    "PartLine": ("reasons",),
    "Remedy": ("change",),
    "Report": ("legacy_objects",),
    "RunbookHop": ("asked_first", "values"),
}
"""By type, the fields that no published JSON or schema has; version 2 of a plan has `change` and `values`."""


_HIDDEN: Final[Mapping[str, Any]] = dict.fromkeys(INTERNAL["Finding"], UNSET)


def published(report: Report) -> Report:
    """Returns the report as it is printed and served."""
    return replace(
        report,
        cluster=_cluster(report.cluster),
        parts=tuple(map(_line, report.parts)),
        checks=tuple(map(_finding, report.checks)),
        legacy_objects=UNSET,
    )


def published_plan(plan: Runbook) -> Runbook:
    """Returns the runbook for version 1 of its JSON: remedies are text only."""
    hops = tuple(
        replace(hop, steps=tuple(map(_finding, hop.steps)), values=UNSET, asked_first=UNSET) for hop in plan.hops
    )
    return replace(plan, cluster=_cluster(plan.cluster), hops=hops)


def typed_plan(plan: Runbook) -> Runbook:
    """Returns the runbook for version 2 of its JSON: each remedy also has its change."""
    hops = tuple(
        replace(hop, steps=tuple(replace(step, **_HIDDEN) for step in hop.steps), asked_first=UNSET)
        for hop in plan.hops
    )
    return replace(plan, schema=TYPED_PLAN, cluster=_cluster(plan.cluster), hops=hops)


def _line(line: PartLine) -> PartLine:
    return replace(line, reasons=UNSET)


def _finding(finding: Finding) -> Finding:
    remedies = tuple(replace(remedy, change=UNSET) for remedy in finding.remedies)
    return replace(finding, **_HIDDEN, remedies=remedies)


def _cluster(facts: ClusterFacts) -> ClusterFacts:
    if facts.installed is None:
        return facts
    hidden = dict.fromkeys(INTERNAL["Installed"], UNSET)
    return replace(facts, installed=replace(facts.installed, **hidden))
