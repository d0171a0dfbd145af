"""Fails for each instance that the controller may not terminate or tag, because a policy condition needs other tags."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.shared.iam_policies import instance_remedies
from migrations_app.checks.shared.iam_room import instance_requests, is_refused
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.needs import need_for
from migrations_app.inventory.aws_facts.instances import TAG, InstanceRequestAnswer, first_ids, tags_text
from migrations_app.inventory.aws_facts.permissions import Permissions, permissions
from migrations_app.inventory.parts import Unseen

check = Check(
    __name__,
    title="The policy conditions match the tags of the instances",
    phase="iam",
    severity="blocker",
    why=(
        "Instances keep the tags of the release that launched them. Where a condition requires other tags, the "
        "controller can neither terminate nor tag them, although no action is missing."
    ),
    reads=("aws.controller_roles", "aws.instances"),
    says=(
        "The controller's IAM policies do not allow it to manage {count} instance",
        "The controller's IAM policies do not allow it to manage {count} instances",
    ),
    how="Evaluates each request that the releases of the upgrade make on an instance with that instance's own tags.",
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "terraform-aws-modules/terraform-aws-eks#3134, #3305; awslabs/cdk-eks-blueprints#1004",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    granted = permissions(case.inventory)
    if isinstance(granted, Unseen):
        yield Unknown(f"the controller's permissions are not known: {granted.detail or granted.why}")
        return
    if not (judged := instance_requests(case, granted)):
        yield NotApplicable("no instance exists on which this upgrade brings a request")
    for answer in judged:
        if answer.answer.verdict is RequestVerdict.UNKNOWN:
            yield Unknown(f"{answer.request.action} on {first_ids(answer.group)}: {answer.answer.because}")
        elif answer.answer.verdict is not RequestVerdict.ALLOWED:
            yield _cause(answer)


def _cause(answer: InstanceRequestAnswer) -> Evidence:
    need = need_for(answer.request.action, answer.minor, existing=answer.request.action == TAG)
    tagging = f" with {', '.join(answer.sent)}" if answer.sent else ""
    release, role = ".".join(map(str, answer.minor)), answer.role.role.arn or "these policies"
    return Evidence(
        kind="Instance",
        name=first_ids(answer.group),
        path=answer.request.action + tagging,
        seen=f"{tags_text(answer.group)}: {answer.answer.because}",
        wanted=f"allowed in {release} for {role}. Else: {need.effect} Log: {need.log}",
        count=answer.group.count,
    )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    granted = permissions(case.inventory)
    if isinstance(granted, Permissions):
        yield from instance_remedies(
            case,
            [instance_request for instance_request in instance_requests(case, granted) if is_refused(instance_request)],
            seen=granted,
        )
