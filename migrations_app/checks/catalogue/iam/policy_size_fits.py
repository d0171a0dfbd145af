"""Fails for each role with no policy in which the missing permissions fit within IAM's size limits."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.shared.iam_gaps import RoleGaps, gaps_by_role, name_of
from migrations_app.checks.shared.iam_policies import split_remedies
from migrations_app.checks.shared.iam_room import PlacedPolicy, filled_to, of_release, placed_policies
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.permissions import policy_with_most_space

check = Check(
    __name__,
    title="The new permissions fit into the controller's IAM policies",
    phase="iam",
    severity="warning",
    why=(
        "IAM allows 6,144 characters in a managed policy, ten managed policies on a role and 10,240 characters "
        "inline: an update beyond that fails halfway."
    ),
    reads=("aws.controller_roles",),
    says=("{count} role has no space for the new permissions", "{count} roles have no space for the new permissions"),
    how=(
        "Merges the missing statements into each policy of the role and counts the characters as IAM does; as "
        "policies of their own they need a free place among ten, or inline characters in the role."
    ),
    sources=(
        "AWS IAM User Guide, IAM and AWS STS quotas",
        "terraform-aws-modules/terraform-aws-eks#3512, #3681, #3692",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    gaps_of_roles = _gaps(case)
    if isinstance(gaps_of_roles, Unknown):
        yield gaps_of_roles
        return
    for role_gaps in gaps_of_roles:
        try:
            room = policy_with_most_space(role_gaps.role, role_gaps.report, site=role_gaps.seen.site)
        except InvalidInput as error:
            yield Unknown(str(error))
            continue
        if room and not room.fits:
            limit = f"at most {room.limit:,} characters" + f"; {room.attached} policies are attached" * room.full
            seen = f"{room.size:,} characters with what {role_gaps.report.release} needs"
            yield _cause(role_gaps, f"policy {room.name}", seen=seen, wanted=limit)
        if unplaced := _does_not_fit(case, role_gaps):
            wanted = f"room for {len(unplaced)} more of {sum(policy.size for policy in unplaced):,} characters"
            yield _cause(role_gaps, "policies of the role", seen=filled_to(role_gaps.role), wanted=wanted)


def _gaps(case: CheckContext) -> tuple[RoleGaps, ...] | Unknown:
    return gaps_by_role(case, accepts=lambda _gap: True)


def _does_not_fit(case: CheckContext, role_gaps: RoleGaps) -> list[PlacedPolicy]:
    placed = placed_policies(case) if role_gaps.gaps else {}
    return [policy for part in of_release(placed, role_gaps.role) for policy in part if policy.place == "none"]


def _cause(role_gaps: RoleGaps, path: str, *, seen: str, wanted: str) -> Evidence:
    kind = "IAM role" if role_gaps.role.role.arn else "IAM policies"
    return Evidence(kind=kind, name=name_of(role_gaps.role), path=path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    gaps_of_roles = _gaps(case)
    for role_gaps in gaps_of_roles if isinstance(gaps_of_roles, tuple) else ():
        room = policy_with_most_space(role_gaps.role, role_gaps.report, site=role_gaps.seen.site)
        if (room and not room.fits) or _does_not_fit(case, role_gaps):
            yield from split_remedies(case, role_gaps)
