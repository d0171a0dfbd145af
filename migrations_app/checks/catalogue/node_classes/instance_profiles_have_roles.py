"""Fails for each instance profile of an alpha object whose role is not found in IAM; v1beta1 needs the role's name."""

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
from migrations_app.checks.evidence import MAP, TEXT, at_field, malformed_fields
from migrations_app.checks.remedies.aws_nodes import profile_remedies, show_profile
from migrations_app.inventory.aws_facts.names import default_profile
from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="Every instance profile has a known role",
    phase="resources",
    severity="warning",
    why="An EC2NodeClass names a role; an AWSNodeTemplate names an instance profile, or uses a removed setting.",
    how="Reads spec.instanceProfile of AWSNodeTemplates and inline providers; looks it up in IAM if that was read.",
    reads=("awsnodetemplates", "provisioners"),
    says=("{count} instance profile has no known role", "{count} instance profiles have no known role"),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws#5090",
    ),
    remedy_tools=("terraform", "iam"),
)
PATH = "spec.instanceProfile"
INLINE = "spec.provider.instanceProfile"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    templates = [(owner, PATH) for owner in case.inventory.awsnodetemplates.items]
    inline = [(owner, INLINE) for owner in case.inventory.provisioners.items if owner.get("spec.provider") is not None]
    if not templates and not inline:
        yield NotApplicable("there is no AWSNodeTemplate and no inline provider")
    yield from malformed_fields((owner for owner, _ in templates), {PATH: TEXT})
    yield from malformed_fields((owner for owner, _ in inline), {INLINE: TEXT, "spec.provider": MAP})
    seen = case.inventory.aws.instance_profiles
    profiles = {profile.name: profile for profile in seen.items}
    for owner, path in (*templates, *inline):
        name = text(owner, path) or default_profile(case.inventory)
        if name in profiles and len(profiles[name].role_arns) != 1:
            state = "no such profile" if not profiles[name].exists else f"{len(profiles[name].role_arns)} roles"
            row = at_field(owner, path, seen=f"{name}: {state}", wanted="a profile with one role")
            yield row.with_data(profile=name)
        elif name not in profiles:
            yield _unread_profile(owner, path, name=name, unseen=isinstance(seen, Unseen))


def _unread_profile(owner: WholeObject, path: str, *, name: str, unseen: bool) -> JudgeResult:
    where = f"{type(owner).__name__} {owner.name}"
    if name and not unseen:
        return Unknown(f"{where}: the profile {name} was not looked up in IAM")
    default = "the profile of aws.defaultInstanceProfile, which v1beta1 ignores"
    profile = f"the profile {name}" if text(owner, path) else default
    return ManualCheck(
        f"{where}: look up the role of {profile} (aws iam get-instance-profile) for spec.role",
        (show_profile(name),) if name else (),
    )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = {row.value("profile") for row in evidence}
    for profile in case.inventory.aws.instance_profiles.items:
        if profile.name in names:
            yield from profile_remedies(profile, case.inventory.aws)
