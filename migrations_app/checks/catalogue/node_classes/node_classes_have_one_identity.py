"""Every EC2NodeClass names a role or an instance profile, and the role by its name."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import TEXT, apart, cause
from migrations_app.checks.remedies.karpenter_objects import changed, edited
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import text
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every node class has exactly one identity",
    phase="resources",
    severity="blocker",
    why="A node class needs a role or an instance profile, and not both: another one is refused, and launches nothing.",
    how="spec.role and spec.instanceProfile of each EC2NodeClass; a role is a name, not an ARN.",
    reads=("ec2nodeclasses",),
    says=("{count} node class has no proper identity", "{count} node classes have no proper identity"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
        "aws/karpenter-provider-aws#9028",
    ),
    remedy_tools=OBJECT_TOOLS,
)
ROLE, PROFILE = "spec.role", "spec.instanceProfile"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    strange, classes = apart(classes, {ROLE: TEXT, PROFILE: TEXT})
    yield from strange
    for one in classes:
        role, profile = one.get(ROLE), one.get(PROFILE)
        if role and profile:
            yield cause(one, ROLE, seen=f"{role}, beside the instance profile {profile}", wanted="one of the two")
        elif not role and not profile:
            yield cause(one, ROLE, seen="absent, and no instance profile", wanted="role or instanceProfile")
        elif text(one, ROLE).startswith("arn:"):
            yield cause(one, ROLE, seen=str(role), wanted=str(role).rpartition("/")[2])


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("role cannot be changed in place everywhere: where that is refused make the class anew",)
    row = evidence[0]
    yield from changed(case, evidence, what=f"give {row.name} {row.wanted}", line=edited, notes=notes)
