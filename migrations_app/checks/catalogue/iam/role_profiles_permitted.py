"""Fails for each action on instance profiles and iam:PassRole that the controller's role lacks for a node role."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.iam_gaps import PROFILE_HOPS, capped_results, gaps_for_part, unknown_node_roles
from migrations_app.checks.shared.iam_policies import closing_remedies

check = Check(
    __name__,
    title="The controller may create instance profiles and pass node roles",
    phase="iam",
    severity="blocker",
    why=(
        "From 0.32 on the controller creates the instance profile of each spec.role itself: without permission for "
        "that, or to pass that role, the node class is never ready and no node is launched."
    ),
    reads=("aws.controller_roles",),
    says=(
        "{count} IAM action on roles and instance profiles is refused",
        "{count} IAM actions on roles and instance profiles are refused",
    ),
    how=(
        "Evaluates the requests about instance profiles and iam:PassRole for each node role against the role's "
        "policies; node classes that all name spec.instanceProfile need only the latter and the list. It is a "
        "warning where the refusal only leaves unused instance profiles."
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
    gaps_of_roles = gaps_for_part(case, "profiles")
    yield from capped_results(gaps_of_roles, doubts=unknown_node_roles(case, gaps_of_roles))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from closing_remedies(case, "profiles")
