"""Fails for each role or instance profile that a node class names and that does not exist or cannot be used in IAM."""

from collections.abc import Iterable, Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.aws_nodes import profile_remedies, role_remedies
from migrations_app.inventory.aws_facts import names
from migrations_app.inventory.objects.aws import NamedBy
from migrations_app.inventory.parts import Part, Unseen

check = Check(
    __name__,
    title="Every role and instance profile of a node class exists",
    phase="iam",
    severity="blocker",
    why=(
        "Without them no node is launched. An update of the official CloudFormation stack to 0.32 deletes the "
        "instance profile that older templates and the default still name."
    ),
    reads=("ec2nodeclasses", "awsnodetemplates", "settings"),
    says=("{count} role or instance profile cannot be used", "{count} roles or instance profiles cannot be used"),
    how="Looks each name in spec.role, spec.instanceProfile and aws.defaultInstanceProfile up in IAM.",
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/providers/instanceprofile/instanceprofile.go",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=("terraform", "iam"),
)
PROFILE_LOG = "Log: getting instance profile ... NoSuchEntity, or Invalid IAM Instance Profile name from EC2"
ROLE_LOG = "Log: adding role ... to instance profile ... NoSuchEntity"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    profiles, roles = names.instance_profiles(case.inventory), names.node_roles(case.inventory)
    if not any((profiles.items, roles.items, _unparsable(profiles), _unparsable(roles))):
        yield NotApplicable("no node class names an instance profile or a role")
    for name, part in (("aws.instance_profiles", profiles), ("aws.node_roles", roles)):
        answers: Part[object] = case.inventory.part(name)
        yield from (Unknown(reason) for reason in _unparsable(part))
        if part.items and isinstance(answers, Unseen):
            yield could_not_read(name, answers)
        elif part.items:
            yield from (Unknown(reason) for reason in _unparsable(answers))
    for profile in case.inventory.aws.instance_profiles.items:
        if len(profile.role_arns) != 1:
            seen = f"{profile.name}: " + (
                f"{len(profile.role_arns)} roles in it" if profile.exists else "absent in IAM"
            )
            wanted = f"a profile with one role. {PROFILE_LOG}"
            yield from _rows(profile.named_by, profile.name, seen=seen, wanted=wanted)
    for role in case.inventory.aws.node_roles.items:
        if isinstance(role.role, Unseen):
            yield Unknown(f"role {role.name}: {role.role.detail or role.role.why}")
        elif not role.role.items:
            named = [by for by in role.named_by if by.path == "spec.role"]
            seen, wanted = f"{role.name}: absent in IAM", f"a role of this account. {ROLE_LOG}"
            yield from _rows(named, role.name, seen=seen, wanted=wanted)


def _unparsable(part: Part[object]) -> list[str]:
    bad = () if isinstance(part, Unseen) else part.quarantined
    return [f"{unparsable.kind} {unparsable.name} {unparsable.field}: {unparsable.why}" for unparsable in bad]


def _rows(named: Iterable[NamedBy], name: str, *, seen: str, wanted: str) -> Iterator[Evidence]:
    for by in named:
        yield Evidence(kind=by.kind, name=by.name, path=by.path, seen=seen, wanted=wanted, data={"name": name})


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    aws = case.inventory.aws
    lacking = [
        instance_profile for instance_profile in aws.instance_profiles.items if len(instance_profile.role_arns) != 1
    ]
    yield from (remedy for profile in lacking for remedy in profile_remedies(profile, aws))
    named = {row.value("name") for row in evidence if row.path == "spec.role"}
    yield from (remedy for role_name in sorted(named) for remedy in role_remedies(role_name, aws.place))
