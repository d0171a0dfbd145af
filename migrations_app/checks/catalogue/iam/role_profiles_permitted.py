"""The controller may make instance profiles of the nodes' roles and pass those roles on."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.iam_gaps import PROFILE_HOPS, lacking, unknown_node_roles, weighed
from migrations_app.checks.shared.iam_policies import closing_remedies

check = Check(
    __name__,
    title="The controller may give nodes their roles",
    phase="iam",
    severity="blocker",
    why=(
        "From 0.32 on the controller makes the instance profile of each spec.role itself: "
        "without the right to, or to pass that role, the node class is never ready and nothing is launched."
    ),
    reads=("aws.controller_roles",),
    says=(
        "{count} action on roles and instance profiles is refused to the controller",
        "{count} actions on roles and instance profiles are refused to the controller",
    ),
    how=(
        "The requests about instance profiles and iam:PassRole for each role that nodes run as are put to an evaluator "
        "of the role's policies; node classes that all name spec.instanceProfile need only the latter and the list. "
        "It warns where the refusal only leaves profiles behind."
    ),
    hops=PROFILE_HOPS,
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/providers/instanceprofile/instanceprofile.go",
        "terraform-aws-modules/terraform-aws-eks#2811",
        "kubernetes/kops#17854",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = lacking(case, "profiles")
    yield from weighed(found, doubts=unknown_node_roles(case, found))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from closing_remedies(case, "profiles")
