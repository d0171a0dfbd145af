"""What the release adds to the controller's policies fits the size that IAM stores."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.shared.iam_gaps import RoleGaps, lacks, name_of
from migrations_app.checks.shared.iam_policies import splitting
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.permissions import Room, roomiest

check = Check(
    __name__,
    title="The policies have room for what the release adds",
    phase="iam",
    severity="warning",
    why="IAM takes no managed policy beyond 6,144 characters: the update that adds the rights fails halfway.",
    reads=("aws.controller_roles",),
    says=("{count} role has no policy with room for the rights", "{count} roles have no policy with room for them"),
    how="The statements that close the gaps are merged into each policy of the role and counted as IAM counts them.",
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
            yield _evidence(lack, room)


def _found(case: CheckContext) -> tuple[RoleGaps, ...] | Unknown:
    return lacks(case, mine=lambda _gap: True)


def _evidence(lack: RoleGaps, room: Room) -> Evidence:
    return Evidence(
        kind="IAM role" if lack.role.role.arn else "IAM policies",
        name=name_of(lack.role),
        path=f"policy {room.name}",
        seen=f"{room.size:,} characters with what {lack.report.release} needs",
        wanted=f"at most {room.limit:,} characters" + (f"; {room.attached} policies are attached" if room.full else ""),
    )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = _found(case)
    for lack in found if isinstance(found, tuple) else ():
        room = roomiest(lack.role, lack.report, site=lack.seen.site)
        if room and not room.fits:
            yield from splitting(case, lack)
