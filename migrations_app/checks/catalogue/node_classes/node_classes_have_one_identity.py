"""Fails for each EC2NodeClass with neither or both of role and instance profile, or with an ARN as the role."""

import re
from collections.abc import Iterator
from typing import Final

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, SeverityCap
from migrations_app.checks.evidence import TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
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
    malformed, classes = split_malformed(classes, {ROLE: TEXT, PROFILE: TEXT})
    yield from malformed
    rows = [row for item in classes for row in _identity(item)]
    unfilled = [item for item in classes if not any(row.name == item.name for row in rows) and _placeholder_field(item)]
    yield from rows
    for item in unfilled:
        path = _placeholder_field(item)
        yield at_field(item, path, seen=text(item, path), wanted="the name, in place of the placeholder")
    if unfilled and not rows and not any(_is_used(case, item) for item in unfilled):
        yield SeverityCap("warning")


def _identity(node_class: EC2NodeClass) -> Iterator[Evidence]:
    role, profile = node_class.get(ROLE), node_class.get(PROFILE)
    if role and profile:
        yield at_field(node_class, ROLE, seen=f"{role}, beside the instance profile {profile}", wanted="one of the two")
    elif not role and not profile:
        yield at_field(node_class, ROLE, seen="absent, and no instance profile", wanted="role or instanceProfile")
    elif text(node_class, ROLE).startswith("arn:"):
        yield at_field(node_class, ROLE, seen=str(role), wanted=str(role).rpartition("/")[2])


def _placeholder_field(node_class: EC2NodeClass) -> str:
    """The field that holds a placeholder; empty if none does."""
    return next((path for path in (ROLE, PROFILE) if _PLACEHOLDER.search(text(node_class, path))), "")


def _is_used(case: CheckContext, node_class: EC2NodeClass) -> bool:
    """Whether a NodePool uses the class; True if NodePools could not be read."""
    pools = case.inventory.nodepools
    return not is_whole(pools) or any(class_name(pool) == node_class.name for pool in pools.items)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("role cannot be changed in place everywhere: where that is refused create the node class again",)
    row = evidence[0]
    yield from change_remedies(case, evidence, what=f"give {row.name} {row.wanted}", line=edit_task, notes=notes)
