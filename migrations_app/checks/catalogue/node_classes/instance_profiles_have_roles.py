"""The role behind every instance profile of the alpha objects is known: v1beta1 asks for the role's name."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    ManualCheck,
    NotApplicable,
    Remedy,
    Unknown,
)
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.evidence import MAP, TEXT, cause, odd
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import shown
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="The role behind every instance profile is known",
    phase="resources",
    severity="warning",
    why="An EC2NodeClass names the role of its nodes; templates name a profile, or leave it to a setting that is gone.",
    how="spec.instanceProfile of templates and inline providers, looked up in IAM where that could be read.",
    reads=("awsnodetemplates", "provisioners"),
    says=("{count} instance profile leads to no role", "{count} instance profiles lead to no role"),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws#5090",
    ),
    remedy_tools=("iam",),
)
PATH = "spec.instanceProfile"
INLINE = "spec.provider.instanceProfile"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    templates = [(one, PATH) for one in case.inventory.awsnodetemplates.items]
    inline = [(one, INLINE) for one in case.inventory.provisioners.items if one.get("spec.provider") is not None]
    if not templates and not inline:
        yield NotApplicable("there is no AWSNodeTemplate and no inline provider")
    yield from odd((one for one, _ in templates), {PATH: TEXT})
    yield from odd((one for one, _ in inline), {INLINE: TEXT, "spec.provider": MAP})
    seen = case.inventory.aws.instance_profiles
    known = {profile.name: profile for profile in seen.items}
    for one, path in (*templates, *inline):
        name = text(one, path)
        if name in known and len(known[name].role_arns) != 1:
            told = "no such profile" if not known[name].exists else f"{len(known[name].role_arns)} roles"
            yield cause(one, path, seen=f"{name}: {told}", wanted="a profile with one role").with_data(profile=name)
        elif not name or name not in known:
            yield _open(f"{type(one).__name__} {one.name}", name, unseen=isinstance(seen, Unseen))


def _open(where: str, name: str, *, unseen: bool) -> JudgeResult:
    if name and not unseen:
        return Unknown(f"{where}: the profile {name} was not looked up in IAM")
    told = f"the profile {name}" if name else "the profile of aws.defaultInstanceProfile, which v1beta1 ignores"
    return ManualCheck(f"{where}: look up the role of {told} (aws iam get-instance-profile) for spec.role")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = dict.fromkeys(no_option(row.value("profile")) for row in evidence)
    looks = (shown("aws", "iam", "get-instance-profile", "--instance-profile-name", name) for name in names)
    task = PersonTask(
        what="put exactly one role into each of these profiles",
        why="which role the nodes are to have is not told by the cluster",
        where=", ".join(names),
        aws=True,
    )
    yield in_aws(group(*looks, task))
