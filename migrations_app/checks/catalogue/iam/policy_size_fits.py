"""What the release adds to the controller's policies fits the size that IAM stores."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.shared.iam_gaps import RoleGaps, lacks, name_of
from migrations_app.checks.shared.iam_policies import splitting
from migrations_app.checks.shared.iam_room import PlacedPolicy, filled_to, of_release, placed_policies
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.permissions import roomiest

check = Check(
    __name__,
    title="The policies have room for what the release adds",
    phase="iam",
    severity="warning",
    why=(
        "IAM takes no managed policy beyond 6,144 characters, no eleventh on a role and no more than 10,240 inline: "
        "the update that adds the rights fails halfway."
    ),
    reads=("aws.controller_roles",),
    says=("{count} role has no policy with room for the rights", "{count} roles have no policy with room for them"),
    how=(
        "The statements that close the gaps are merged into each policy of the role and counted as IAM counts them; "
        "as policies of their own they need a free place among ten, or characters in the role."
    ),
    sources=(
        "AWS IAM User Guide, IAM and AWS STS quotas",
        "terraform-aws-modules/terraform-aws-eks#3512, #3681, #3692",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = _found(case)
    if isinstance(found, Unknown):
        yield found
        return
    for lack in found:
        try:
            room = roomiest(lack.role, lack.report, site=lack.seen.site)
        except InvalidInput as wrong:
            yield Unknown(str(wrong))
            continue
        if room and not room.fits:
            limit = f"at most {room.limit:,} characters" + f"; {room.attached} policies are attached" * room.full
            seen = f"{room.size:,} characters with what {lack.report.release} needs"
            yield _row(lack, f"policy {room.name}", seen=seen, wanted=limit)
        if homeless := _homeless(case, lack):
            wanted = f"room for {len(homeless)} more of {sum(one.size for one in homeless):,} characters"
            yield _row(lack, "policies of the role", seen=filled_to(lack.role), wanted=wanted)


def _found(case: CheckContext) -> tuple[RoleGaps, ...] | Unknown:
    return lacks(case, mine=lambda _gap: True)


def _homeless(case: CheckContext, lack: RoleGaps) -> list[PlacedPolicy]:
    placed = placed_policies(case) if lack.gaps else {}
    return [one for part in of_release(placed, lack.role) for one in part if one.place == "none"]


def _row(lack: RoleGaps, path: str, *, seen: str, wanted: str) -> Evidence:
    kind = "IAM role" if lack.role.role.arn else "IAM policies"
    return Evidence(kind=kind, name=name_of(lack.role), path=path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = _found(case)
    for lack in found if isinstance(found, tuple) else ():
        room = roomiest(lack.role, lack.report, site=lack.seen.site)
        if (room and not room.fits) or _homeless(case, lack):
            yield from splitting(case, lack)
