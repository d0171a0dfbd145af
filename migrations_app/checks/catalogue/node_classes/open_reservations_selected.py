"""Asks a person to look for open capacity reservations where a node class selects none."""

import shlex
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.inventory.facts.controller import installation, parsed_gates
from migrations_app.karpenter.hops import hops_from

check = Check(
    __name__,
    title="Every open capacity reservation is selected by a node class",
    phase="resources",
    severity="info",
    why=(
        "From 1.6 on reserved capacity is a capacity type of its own by default: nodes of a class that selects no "
        "open reservation leave it unused, and it is billed."
    ),
    reads=("ec2nodeclasses", "controller"),
    says=("{count} capacity reservation is not selected", "{count} capacity reservations are not selected"),
    how=(
        "Reads capacityReservationSelectorTerms of each node class and whether the feature gate ReservedCapacity is on "
        "already; a person looks up the reservations."
    ),
    hops=hops_from("1.6"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.6.8:pkg/providers/launchtemplate/types.go",
    ),
    remedy_tools=("iam",),
)
TERMS, GATE, NAMES_SHOWN = "spec.capacityReservationSelectorTerms", "ReservedCapacity", 5
LOOK = (
    "aws ec2 describe-capacity-reservations --filters Name=state,Values=active Name=instance-match-criteria,Values=open"
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes, controller = case.inventory.ec2nodeclasses.items, installation(case.inventory)
    lacking = [node_class.name for node_class in classes if not node_class.get(TERMS)]
    if "1.6" not in case.hop.entered:
        yield NotApplicable("the upgrade does not enter 1.6")
    elif not lacking:
        yield NotApplicable("every EC2NodeClass selects reservations" if classes else "there is no EC2NodeClass")
    elif controller is not None and parsed_gates(controller).get(GATE):
        yield NotApplicable(f"the feature gate {GATE} is on already")
    else:
        names = ", ".join(lacking[:NAMES_SHOWN]) + (", ..." if len(lacking) > NAMES_SHOWN else "")
        yield ManualCheck(
            f"Check whether the account has open reservations: {LOOK}; from 1.6 on nodes of {names} use only what "
            f"{TERMS} selects"
        )


@check.advise
def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_aws(read_command(*shlex.split(LOOK)))
