"""Groups open findings that have one cause, and says what to do next for a hop and whether it is safe.

One forbidden list keeps many checks unknown: they are one group with one remedy, not twenty rows.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from migrations_app.checks.base import PHASES, Finding, Reason, Remedy, Severity, Status
from migrations_app.checks.remedies.aws import NOT_LOOKED_AT
from migrations_app.inventory.inventory import AWS_PREFIX
from migrations_app.readiness.needs_order import ordered_by_needs
from migrations_app.readiness.rbac.roles import PART_KINDS, kinds_of, scan_roles
from migrations_app.readiness.report import Verdict

_FORBIDDEN, _NOT_ASKED = "forbidden", "not_asked"


class OpenQuestion(NamedTuple):
    """The common cause of open findings. `part` and `why` name the unread data source; empty for any other cause."""

    text: str
    part: str = ""
    why: str = ""


def cause_of(finding: Finding) -> OpenQuestion:
    """Returns why the finding is open: AWS was not read, a data source was not read, or the finding's own summary."""
    reason = finding.reason
    if finding.status != "unknown" or not isinstance(reason, Reason):
        return OpenQuestion(finding.summary or finding.title)
    if reason.code == "aws_not_asked":
        return OpenQuestion(NOT_LOOKED_AT, reason.part, reason.why)
    if reason.part not in PART_KINDS and not reason.part.startswith(AWS_PREFIX):
        return OpenQuestion(finding.summary or finding.title)
    return OpenQuestion(f"{reason.part} could not be read: {reason.why}", reason.part, reason.why)


def remedies_to_read(cause: OpenQuestion, *, cluster: str) -> tuple[Remedy, ...]:
    """Returns the remedies that let karpdash read the data source; empty if only another scan may help."""
    if cause.part == AWS_PREFIX.rstrip("."):
        return (Remedy(how="iam", text=_aws_commands(cluster)),)
    if cause.why == _FORBIDDEN and cause.part in PART_KINDS:
        return (Remedy(how="kubectl", text=_role_commands(cause.part)),)
    if cause.why == _NOT_ASKED and cause.part in PART_KINDS:
        return (Remedy(how="kubectl", text=_bundle_commands(cause.part)),)
    return ()


def _aws_commands(cluster: str) -> str:
    name = cluster if re.fullmatch(r"[\w.-]+", cluster, re.ASCII) else "CLUSTER"
    return "\n".join(
        (
            "# Prints an external id and the policies of a role that may only read",
            f"karpdash cluster aws {name} --eks CLUSTER_ARN > draft.json",
            "# Make that role, then prove it; the next scan looks at AWS",
            f"karpdash cluster aws {name} --eks CLUSTER_ARN --role-arn ROLE_ARN --draft draft.json",
            "# Without access to AWS, the permissions alone: documents of the controller's role",
            "karpdash scan --bundle DUMP --iam-policy policy.json",
        )
    )


def _role_commands(part: str) -> str:
    role = scan_roles(kinds_of([part]))
    about = "# Allows reading only; bind it to the account that karpdash uses, then scan again"
    return f"{about}\nkubectl apply -f - <<'ROLE'\n{role}ROLE"


def _bundle_commands(part: str) -> str:
    plurals = ",".join(f"{kind.plural}.{kind.group}" if kind.group else kind.plural for kind in kinds_of([part]))
    return f"# The bundle does not hold them; put them there\nkubectl get {plurals} -A -o yaml > DUMP/{part}.yaml"


_SEVERITIES: tuple[Severity, ...] = ("blocker", "warning", "info")
_GROUPED_STATUSES: tuple[Status, ...] = ("unknown", "manual")
"""Statuses of findings that are grouped by cause; a failure has its own evidence and stands alone."""


class FindingGroup(NamedTuple):
    """Findings with one status and one cause, the most severe first; `remedies` help all of them."""

    cause: OpenQuestion
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def alone(self) -> bool:
        return len(self.findings) == 1

    @property
    def status(self) -> Status:
        return self.first.status

    @property
    def severity(self) -> Severity:
        return self.first.severity

    @property
    def summary(self) -> str:
        """The cause that they share, or the summary of the only finding."""
        return self.first.summary if self.alone else self.cause.text


def group_findings(findings: Iterable[Finding], *, cluster: str) -> tuple[FindingGroup, ...]:
    """Returns the groups, the most severe first."""
    return group_in_order(sorted(findings, key=_rank), cluster=cluster)


def group_in_order(findings: Iterable[Finding], *, cluster: str) -> tuple[FindingGroup, ...]:
    """Returns the groups in the order of their first findings, which is the order of work in a runbook."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        is_shared = finding.status in _GROUPED_STATUSES
        groups.setdefault((finding.status, cause_of(finding)) if is_shared else finding.id, []).append(finding)
    return tuple(_group(tuple(findings_of_group), cluster=cluster) for findings_of_group in groups.values())


def _rank(finding: Finding) -> int:
    return _SEVERITIES.index(finding.severity)


def _group(findings: tuple[Finding, ...], *, cluster: str) -> FindingGroup:
    first = findings[0]
    cause = cause_of(first)
    remedies = (
        first.remedies if first.remedies or first.status != "unknown" else remedies_to_read(cause, cluster=cluster)
    )
    return FindingGroup(cause, findings, remedies)


class NextStep(NamedTuple):
    """`safe` says whether the hop may be taken now; `do` is the next thing to do, `check` the id of the check behind
    it.

    `others` counts the other groups that keep the hop from being safe in the same way.
    """

    safe: str
    do: str
    check: str = ""
    others: int = 0


def next_step(verdict: Verdict, findings: Iterable[Finding], *, release: str, cluster: str) -> NextStep:
    """Returns the next step. Of several failing blockers that comes first which is first in the order of work
    and needs none of the others. Of unknown blockers that comes first which has a remedy, then that on which most
    blockers depend."""
    groups = group_findings((f for f in findings if f.status in ("fail", "unknown", "manual")), cluster=cluster)
    blockers = [group for group in groups if group.severity == "blocker"]
    if failing := _by_phase(group for group in blockers if group.status == "fail"):
        count = "1 blocker" if len(failing) == 1 else f"{len(failing)} blockers"
        first_id = ordered_by_needs([group.first for group in failing])[0].id
        first = next(group for group in failing if group.first.id == first_id)
        return NextStep(f"Not ready: {count}", first.summary, first_id, len(failing) - 1)
    if blockers:
        chosen = max(_by_phase(blockers), key=lambda group: (bool(group.remedies), _open_blockers(group)))
        questions = sum(map(_open_blockers, blockers))
        count = "1 possible blocker" if questions == 1 else f"{questions} possible blockers"
        safe = f"Cannot tell: {count} unchecked"
        return NextStep(safe, _counted_summary(chosen), chosen.first.id, len(blockers) - 1)
    if verdict == "needs_facts":
        return NextStep("Cannot tell: nothing could be checked", "Scan the cluster with the permissions it needs")
    return _without_blockers(_by_phase(group for group in groups if group.severity == "warning"), release=release)


def _open_blockers(group: FindingGroup) -> int:
    """Returns how many blockers of the group are open."""
    return sum(finding.open_blocker for finding in group.findings)


def _without_blockers(warnings: list[FindingGroup], *, release: str) -> NextStep:
    """Returns the next step of a hop without open blockers: the upgrade, or the first warning."""
    upgrade = f"Upgrade to {release}, CRDs first" if release else "Nothing is left to do"
    if not warnings:
        return NextStep("Ready to upgrade", upgrade)
    failing, unchecked = warning_counts(warnings)
    count = "1 warning" if failing == 1 else f"{failing} warnings"
    possible = "1 possible warning" if unchecked == 1 else f"{unchecked} possible warnings"
    more = f"; {unchecked} more unchecked" if unchecked else ""
    safe = f"Ready: review {count}{more}" if failing else f"Ready: {possible} unchecked"
    return NextStep(safe, _counted_summary(warnings[0]), warnings[0].first.id, len(warnings) - 1)


def warning_counts(warnings: Iterable[FindingGroup]) -> tuple[int, int]:
    """Returns how many warnings fail, as the tally counts them, and how many could not be checked."""
    findings = [finding for group in warnings for finding in group.findings if finding.severity == "warning"]
    failing = sum(finding.status == "fail" for finding in findings)
    return failing, len(findings) - failing


def _counted_summary(group: FindingGroup) -> str:
    """Returns the summary of the group, with the number of its checks."""
    return f"{group.summary} ({len(group.findings)} checks)" if not group.alone else group.summary


def _by_phase(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    return sorted(groups, key=lambda group: PHASES.index(group.first.phase))
