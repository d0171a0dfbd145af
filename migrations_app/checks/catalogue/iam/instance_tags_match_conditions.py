"""The controller may end and tag the instances that exist: its conditions fit the tags they really carry."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws_nodes import within_reach
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.needs import need_for
from migrations_app.inventory.aws_facts.instances import TAG, InstanceRequestAnswer, at_hop, first_ids, tags_text
from migrations_app.inventory.aws_facts.permissions import Permissions, permissions
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="The controller's policies fit the tags of the instances",
    phase="iam",
    severity="blocker",
    why=(
        "Instances keep the tags of the release that launched them: where a condition asks for others, "
        "the controller can neither end nor tag them, though no action is missing."
    ),
    reads=("aws.controller_roles", "aws.instances"),
    says=("{count} instance is out of the controller's reach", "{count} instances are out of the controller's reach"),
    how="Each request that the releases of the hop make on an instance is judged with that instance's own tags.",
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "terraform-aws-modules/terraform-aws-eks#3134, #3305; awslabs/cdk-eks-blueprints#1004",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = permissions(case.inventory)
    if isinstance(found, Unseen):
        yield Unknown(f"the controller's permissions are not known: {found.detail or found.why}")
        return
    if not (judged := _judged(case, found)):
        yield NotApplicable("no instance exists on which this hop brings a request")
    for one in judged:
        if one.answer.verdict is RequestVerdict.UNKNOWN:
            yield Unknown(f"{one.request.action} on {first_ids(one.group)}: {one.answer.because}")
        elif one.answer.verdict is not RequestVerdict.ALLOWED:
            yield _row(one)


def _judged(case: CheckContext, found: Permissions) -> tuple[InstanceRequestAnswer, ...]:
    running, groups = case.running.release, case.inventory.aws.instances.items
    now = minor_order(running.minor) if running else None
    start, end = minor_order(case.step.start.minor), minor_order(case.step.release.minor)
    return at_hop(found, groups, running=now, start=start, end=end)


def _row(one: InstanceRequestAnswer) -> Evidence:
    need = need_for(one.request.action, one.minor, existing=one.request.action == TAG)
    tagging = f" with {', '.join(one.sent)}" if one.sent else ""
    release, role = ".".join(map(str, one.minor)), one.role.role.arn or "these policies"
    return Evidence(
        kind="Instance",
        name=first_ids(one.group),
        path=one.request.action + tagging,
        seen=f"{tags_text(one.group)}: {one.answer.because}",
        wanted=f"allowed in {release} for {role}. Else: {need.effect} Log: {need.log}",
        count=one.group.count,
    )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = permissions(case.inventory)
    if isinstance(found, Permissions):
        refused = [
            one
            for one in _judged(case, found)
            if one.answer.verdict not in (RequestVerdict.ALLOWED, RequestVerdict.UNKNOWN)
        ]
        yield from within_reach(refused, found.site)
