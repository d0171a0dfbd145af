"""Asks a person to look for open capacity reservations where no node class selects any."""

import shlex
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.karpenter.hops import hops_from

check = Check(
    __name__,
    title="Every open capacity reservation is selected by a node class",
    phase="resources",
    severity="info",
    why=(
        "From 1.6 on reserved capacity is a capacity type of its own by default: open reservations that no node "
        "class selects stay unused, and are billed."
    ),
    reads=("ec2nodeclasses",),
    says=("{count} capacity reservation is not selected", "{count} capacity reservations are not selected"),
    how="Reads capacityReservationSelectorTerms of node classes; a person looks up the reservations.",
    hops=hops_from("1.6"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("iam",),
)
TERMS = "spec.capacityReservationSelectorTerms"
LOOK = (
    "aws ec2 describe-capacity-reservations --filters Name=state,Values=active Name=instance-match-criteria,Values=open"
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if "1.6" not in case.hop.entered:
        yield NotApplicable("the upgrade does not enter 1.6")
    elif any(ec2nodeclass.get(TERMS) for ec2nodeclass in case.inventory.ec2nodeclasses.items):
        yield NotApplicable("a node class selects reservations")
    else:
        yield ManualCheck(f"Check whether the account has open reservations: {LOOK}; select them by {TERMS}")


@check.advise
def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_aws(read_command(*shlex.split(LOOK)))
