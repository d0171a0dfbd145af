"""Why a question is open, told from the reason of its finding, and how to see what kept it from an answer."""

import re
from typing import NamedTuple

from migrations_app.checks.aws_access import NOT_LOOKED_AT
from migrations_app.checks.values import Finding, Reason, Remedy
from migrations_app.inventory.inventory import AWS_PREFIX
from migrations_app.readiness.rights import PART_KINDS, cluster_role, kinds_of

_FORBIDDEN, _NOT_ASKED = "forbidden", "not_asked"


class Cause(NamedTuple):
    """What open questions share. `part` and `why` name the part that was not read; empty where it is something else."""

    text: str
    part: str = ""
    why: str = ""


def cause_of(finding: Finding) -> Cause:
    """What keeps the finding open: AWS, a part that was not read, or just what it says."""
    reason = finding.reason
    if finding.status != "unknown" or not isinstance(reason, Reason):
        return Cause(finding.summary or finding.title)
    if reason.code == "aws_not_asked":
        return Cause(NOT_LOOKED_AT, reason.part, reason.why)
    if reason.part not in PART_KINDS and not reason.part.startswith(AWS_PREFIX):
        return Cause(finding.summary or finding.title)
    return Cause(f"{reason.part} could not be read: {reason.why}", reason.part, reason.why)


def how_to_see(cause: Cause, *, cluster: str) -> tuple[Remedy, ...]:
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
    role = cluster_role(kinds_of([part]), name=f"karpdash-scan-{part.replace('_', '-')}")
    about = "# Allows reading only; bind it to the account that karpdash uses, then scan again"
    return f"{about}\nkubectl apply -f - <<'ROLE'\n{role}ROLE"


def _into_the_bundle(part: str) -> str:
    plurals = ",".join(f"{one.plural}.{one.group}" if one.group else one.plural for one in kinds_of([part]))
    return f"# The bundle does not hold them; put them there\nkubectl get {plurals} -A -o yaml > DUMP/{part}.yaml"
