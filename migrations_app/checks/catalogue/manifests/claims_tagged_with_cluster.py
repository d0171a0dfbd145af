"""Every instance carries the tag by which 1.1 finds it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.karpenter_objects import described
from migrations_app.inventory.aws_facts.instances import all_named
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every instance is tagged with its cluster",
    phase="resources",
    severity="blocker",
    why=(
        "1.1 lists instances by that tag only: one without it is not seen, "
        "and its claim is removed once the node is not ready."
    ),
    how="The annotation that tells of the tag is read from every NodeClaim, and the tag itself where AWS shows it.",
    reads=("nodeclaims",),
    says=(
        "{count} claim's instance is not tagged with its cluster",
        "{count} claims' instances are not tagged with their cluster",
    ),
    hops=(BETA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.0.14:pkg/controllers/nodeclaim/tagging/controller.go",
        "aws/karpenter-provider-aws@v1.1.10:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl", "iam"),
)


POLICIES_OF = "the policies of the controller's role; controller_permitted writes what is missing"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    if running is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif running.minor != CONVERTED:
        yield NotApplicable(f"the tag is written by {CONVERTED}, and {running} runs")
    elif (named := all_named(case.inventory.aws)) is not True:
        # The annotation is the controller's note of having written the tag; where EC2 shows the tag it proves more.
        untagged = list(_untagged(case))
        yield from untagged
        if named is False and not untagged:
            yield Unknown("every claim says that its instance is tagged, and EC2 shows instances that are not")


def _untagged(case: CheckContext) -> Iterator[Evidence]:
    for claim in case.inventory.nodeclaims.items:
        reference = claim.spec.node_class_ref
        mine = not reference or reference.group in (None, "", kinds.AWS_GROUP)
        if mine and claim.provider_id and claim.metadata.annotation(labels.CLUSTER_NAME_TAGGED) != "true":
            yield Evidence(
                kind="NodeClaim",
                name=claim.name,
                path=f"metadata.annotations[{labels.CLUSTER_NAME_TAGGED}]",
                seen=claim.metadata.annotation(labels.CLUSTER_NAME_TAGGED) or "absent",
                wanted="true",
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    what = f"allow the controller ec2:CreateTags with {labels.CLUSTER_NAME_TAG} on instances"
    yield in_aws(PersonTask(what=what, why="1.0 then tags them by itself", where=POLICIES_OF, aws=True))
    yield described(evidence)
