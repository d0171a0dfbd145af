"""Why a question is open, told from the reason of its finding, and how to see what kept it from an answer.

Open findings that wait for the same thing, put together: one refused list is one row, not twenty.

What to do next at a hop, and whether it is safe to take it: two short answers before the long list.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from migrations_app.checks.base import PHASES, Finding, Reason, Remedy, Severity, Status
from migrations_app.checks.remedies.aws import NOT_LOOKED_AT
from migrations_app.inventory.inventory import AWS_PREFIX
from migrations_app.readiness.rbac.roles import PART_KINDS, kinds_of, scan_roles
from migrations_app.readiness.report import Verdict

_FORBIDDEN, _NOT_ASKED = "forbidden", "not_asked"


class OpenQuestion(NamedTuple):
    """What open questions share. `part` and `why` name the part that was not read; empty where it is something else."""

    text: str
    part: str = ""
    why: str = ""


def cause_of(finding: Finding) -> OpenQuestion:
    """What keeps the finding open: AWS, a part that was not read, or just what it says."""
    reason = finding.reason
    if finding.status != "unknown" or not isinstance(reason, Reason):
        return OpenQuestion(finding.summary or finding.title)
    if reason.code == "aws_not_asked":
        return OpenQuestion(NOT_LOOKED_AT, reason.part, reason.why)
    if reason.part not in PART_KINDS and not reason.part.startswith(AWS_PREFIX):
        return OpenQuestion(finding.summary or finding.title)
    return OpenQuestion(f"{reason.part} could not be read: {reason.why}", reason.part, reason.why)


def how_to_see(cause: OpenQuestion, *, cluster: str) -> tuple[Remedy, ...]:
    """How to let karpdash see it; empty where nothing is known to help but to look again."""
    if cause.part == AWS_PREFIX.rstrip("."):
        return (Remedy(how="iam", text=_aws_access(cluster)),)
    if cause.why == _FORBIDDEN and cause.part in PART_KINDS:
        return (Remedy(how="kubectl", text=_right_to_list(cause.part)),)
    if cause.why == _NOT_ASKED and cause.part in PART_KINDS:
        return (Remedy(how="kubectl", text=_into_the_bundle(cause.part)),)
    return ()


def _aws_access(cluster: str) -> str:
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


def _right_to_list(part: str) -> str:
    role = scan_roles(kinds_of([part]))
    about = "# Allows reading only; bind it to the account that karpdash uses, then scan again"
    return f"{about}\nkubectl apply -f - <<'ROLE'\n{role}ROLE"


def _into_the_bundle(part: str) -> str:
    plurals = ",".join(f"{kind.plural}.{kind.group}" if kind.group else kind.plural for kind in kinds_of([part]))
    return f"# The bundle does not hold them; put them there\nkubectl get {plurals} -A -o yaml > DUMP/{part}.yaml"


_SEVERITIES: tuple[Severity, ...] = ("blocker", "warning", "info")
_SHARED: tuple[Status, ...] = ("unknown", "manual")
"""A failure has evidence of its own and stands alone."""


class FindingGroup(NamedTuple):
    """Findings of one status and one cause, the most severe first; `remedies` help all of them."""

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
        """What to say of all of them: the cause, or what the only one says."""
        return self.first.summary if self.alone else self.cause.text


def group_findings(findings: Iterable[Finding], *, cluster: str) -> tuple[FindingGroup, ...]:
    """The groups, the most severe first."""
    return in_order(sorted(findings, key=_rank), cluster=cluster)


def in_order(findings: Iterable[Finding], *, cluster: str) -> tuple[FindingGroup, ...]:
    """The groups in the order of their first findings, which is that of the work in a plan."""
    held: dict[object, list[Finding]] = {}
    for finding in findings:
        alike = finding.status in _SHARED
        held.setdefault((finding.status, cause_of(finding)) if alike else finding.id, []).append(finding)
    return tuple(_group(tuple(alike), cluster=cluster) for alike in held.values())


def _rank(finding: Finding) -> int:
    return _SEVERITIES.index(finding.severity)


def _group(alike: tuple[Finding, ...], *, cluster: str) -> FindingGroup:
    first = alike[0]
    cause = cause_of(first)
    own = first.remedies if first.remedies or first.status != "unknown" else how_to_see(cause, cluster=cluster)
    return FindingGroup(cause, alike, own)


class NextStep(NamedTuple):
    """`safe` answers whether the hop may be taken now; `do` is the next thing, `check` the id that asks for it.

    `others` counts what stands in the same way beside it.
    """

    safe: str
    do: str
    check: str = ""
    others: int = 0


def next_step(verdict: Verdict, findings: Iterable[Finding], *, release: str, cluster: str) -> NextStep:
    """Where several things are to be done, the first one in the order of the work; of open questions the one that is
    known how to answer, and then the one that most of them wait for."""
    groups = group_findings((f for f in findings if f.status in ("fail", "unknown", "manual")), cluster=cluster)
    blockers = [group for group in groups if group.severity == "blocker"]
    if failing := _in_order(group for group in blockers if group.status == "fail"):
        count = "1 blocker" if len(failing) == 1 else f"{len(failing)} blockers"
        return NextStep(f"Not ready: {count}", failing[0].summary, failing[0].first.id, len(failing) - 1)
    if blockers:
        first = max(_in_order(blockers), key=lambda group: (bool(group.remedies), _questions(group)))
        questions = sum(map(_questions, blockers))
        count = "1 possible blocker" if questions == 1 else f"{questions} possible blockers"
        safe = f"Cannot tell: {count} unchecked"
        return NextStep(safe, _seen(first), first.first.id, len(blockers) - 1)
    if verdict == "needs_facts":
        return NextStep("Cannot tell: nothing could be checked", "Scan the cluster with the rights it needs")
    return _care(_in_order(group for group in groups if group.severity == "warning"), release=release)


def _questions(group: FindingGroup) -> int:
    return sum(finding.open_blocker for finding in group.findings)


def _care(warnings: list[FindingGroup], *, release: str) -> NextStep:
    land = f"Upgrade to {release}, CRDs first" if release else "Nothing is left to do"
    if not warnings:
        return NextStep("Ready to upgrade", land)
    count = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    return NextStep(f"Ready: review {count}", _seen(warnings[0]), warnings[0].first.id, len(warnings) - 1)


def _seen(group: FindingGroup) -> str:
    return f"{group.summary} ({len(group.findings)} checks)" if not group.alone else group.summary


def _in_order(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    return sorted(groups, key=lambda group: PHASES.index(group.first.phase))
