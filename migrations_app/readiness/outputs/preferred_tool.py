"""The fixes of a finding with those of one tool first. Every other stays, in its order."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migrations_app.checks.base import Finding, Remedy
    from migrations_app.readiness.plan.runbook import Runbook
    from migrations_app.readiness.report import Report

TOOLS = ("kubectl", "helm", "terraform", "flux", "argocd", "aws-cli", "json", "cloudformation")
"""What commands are given for; the last three are forms of an IAM policy."""
_OF_IAM = TOOLS[-3:]


def tools_of(remedies: "Sequence[Remedy]") -> tuple[str, ...]:
    """The tool of each remedy; empty for an action of karpdash, and for a policy that is not given in all forms."""
    forms = iter(_OF_IAM if sum(remedy.how == "iam" for remedy in remedies) == len(_OF_IAM) else ())
    return tuple(next(forms, "") if fix.how == "iam" else fix.how if fix.how in TOOLS else "" for fix in remedies)


def by_tool(remedies: "Sequence[Remedy]", tool: str) -> "tuple[Remedy, ...]":
    """The remedies, those of the tool first."""
    if not tool:
        return tuple(remedies)
    tools = tools_of(remedies)
    order = sorted(range(len(remedies)), key=lambda at: tools[at] != tool)
    return tuple(remedies[at] for at in order)


def report_by_tool(report: "Report", tool: str) -> "Report":
    """The report with the remedies of each finding in that order; the same one without a tool."""
    import msgspec

    return msgspec.structs.replace(report, checks=_findings(report.checks, tool)) if tool else report


def plan_by_tool(plan: "Runbook", tool: str) -> "Runbook":
    """As `report_by_tool`, of a runbook."""
    import msgspec

    if not tool:
        return plan
    hops = (msgspec.structs.replace(hop, steps=_findings(hop.steps, tool)) for hop in plan.hops)
    return msgspec.structs.replace(plan, hops=tuple(hops))


def _findings(findings: "Iterable[Finding]", tool: str) -> "tuple[Finding, ...]":
    import msgspec

    return tuple(
        msgspec.structs.replace(finding, remedies=by_tool(finding.remedies, tool))
        if len(finding.remedies) > 1
        else finding
        for finding in findings
    )
