"""Sorts the remedies of findings so that those of a preferred tool come first; the others keep their order."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migrations_app.checks.base import Finding, Remedy
    from migrations_app.readiness.report import Report
    from migrations_app.readiness.runbook.runbook import Runbook

TOOLS = ("kubectl", "helm", "terraform", "flux", "argocd", "aws-cli", "json", "cloudformation")
"""Tools that commands are written for; the last three are formats of an IAM policy."""
_IAM_FORMATS = TOOLS[-3:]


def tools_of(remedies: "Sequence[Remedy]") -> tuple[str, ...]:
    """Returns the tool of each remedy; empty for an action of karpdash and for a policy not written in all formats."""
    forms = iter(_IAM_FORMATS if sum(remedy.how == "iam" for remedy in remedies) == len(_IAM_FORMATS) else ())
    return tuple(next(forms, "") if fix.how == "iam" else fix.how if fix.how in TOOLS else "" for fix in remedies)


def by_tool(remedies: "Sequence[Remedy]", tool: str) -> "tuple[Remedy, ...]":
    """Returns the remedies, those of the tool first."""
    if not tool:
        return tuple(remedies)
    tools = tools_of(remedies)
    order = sorted(range(len(remedies)), key=lambda at: tools[at] != tool)
    return tuple(remedies[at] for at in order)


def report_by_tool(report: "Report", tool: str) -> "Report":
    """Returns the report with the remedies of each finding in that order; unchanged without a tool."""
    import msgspec

    return msgspec.structs.replace(report, checks=_with_sorted_remedies(report.checks, tool)) if tool else report


def plan_by_tool(plan: "Runbook", tool: str) -> "Runbook":
    """As `report_by_tool`, for a runbook."""
    import msgspec

    if not tool:
        return plan
    hops = (msgspec.structs.replace(hop, steps=_with_sorted_remedies(hop.steps, tool)) for hop in plan.hops)
    return msgspec.structs.replace(plan, hops=tuple(hops))


def _with_sorted_remedies(findings: "Iterable[Finding]", tool: str) -> "tuple[Finding, ...]":
    import msgspec

    return tuple(
        msgspec.structs.replace(finding, remedies=by_tool(finding.remedies, tool))
        if len(finding.remedies) > 1
        else finding
        for finding in findings
    )
