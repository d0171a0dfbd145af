"""Fails for each EC2NodeClass with neither or both of role and instance profile, or with an ARN as the role."""

import re
from collections.abc import Iterator
from typing import Final

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, SeverityCap
from migrations_app.checks.evidence import TEXT, apart, cause
from migrations_app.checks.remedies.karpenter_objects import changed, edited
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import class_name, text
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every node class has one role or instance profile",
    phase="resources",
    severity="blocker",
    why="A node class needs a role or an instance profile, not both: else the API refuses it, or it launches nothing.",
    how="Reads spec.role and spec.instanceProfile of each EC2NodeClass; each must be a name: no ARN, no placeholder.",
    reads=("ec2nodeclasses",),
    says=("{count} node class has no valid role or profile", "{count} node classes have no valid role or profile"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
        "aws/karpenter-provider-aws#9028",
    ),
    remedy_tools=OBJECT_TOOLS,
)
ROLE, PROFILE = "spec.role", "spec.instanceProfile"
_PLACEHOLDER: Final = re.compile(r"[$<>{}]")
"""Characters that no IAM name contains and every template language uses: a placeholder was not filled in."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    strange, classes = apart(classes, {ROLE: TEXT, PROFILE: TEXT})
    yield from strange
    rows = [row for one in classes for row in _identity(one)]
    unfilled = [one for one in classes if not any(row.name == one.name for row in rows) and _unfilled(one)]
    yield from rows
    for one in unfilled:
        yield cause(one, _unfilled(one), seen=text(one, _unfilled(one)), wanted="the name, in place of the placeholder")
    if unfilled and not rows and not any(_used(case, one) for one in unfilled):
        yield SeverityCap("warning")


def _identity(one: EC2NodeClass) -> Iterator[Evidence]:
    role, profile = one.get(ROLE), one.get(PROFILE)
    if role and profile:
        yield cause(one, ROLE, seen=f"{role}, beside the instance profile {profile}", wanted="one of the two")
    elif not role and not profile:
        yield cause(one, ROLE, seen="absent, and no instance profile", wanted="role or instanceProfile")
    elif text(one, ROLE).startswith("arn:"):
        yield cause(one, ROLE, seen=str(role), wanted=str(role).rpartition("/")[2])


def _unfilled(one: EC2NodeClass) -> str:
    """The field that holds a placeholder; empty if none does."""
    return next((path for path in (ROLE, PROFILE) if _PLACEHOLDER.search(text(one, path))), "")


def _used(case: CheckContext, one: EC2NodeClass) -> bool:
    """Whether a NodePool uses the class; True if NodePools could not be read."""
    pools = case.inventory.nodepools
    return not is_whole(pools) or any(class_name(pool) == one.name for pool in pools.items)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("role cannot be changed in place everywhere: where that is refused create the node class again",)
    row = evidence[0]
    yield from changed(case, evidence, what=f"give {row.name} {row.wanted}", line=edited, notes=notes)
