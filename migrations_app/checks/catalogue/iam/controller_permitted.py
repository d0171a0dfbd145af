"""The controller may do all that the next release needs."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.iam_gaps import PROFILE_HOPS, contradicted, lacking, unknown_node_roles, weighed
from migrations_app.checks.shared.iam_policies import closing_remedies

check = Check(
    __name__,
    title="The controller may do all that the release needs",
    phase="iam",
    severity="blocker",
    why=(
        "A call that AWS refuses stops launches, terminations or the start of the controller, "
        "and a stale condition refuses as surely as a missing action."
    ),
    reads=("aws.controller_roles",),
    says=(
        "{count} action that the release needs is refused to the controller",
        "{count} actions that the release needs are refused to the controller",
    ),
    how=(
        "Every request that the release makes here is put to an evaluator of the role's policies and its boundary; "
        "settings of the cluster decide which requests those are. "
        "It warns where the controller does its work without what is refused."
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:pkg/operator/operator.go, pkg/providers, pkg/controllers",
        "AWS IAM User Guide, policy evaluation logic",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = lacking(case, "needs")
    roles = unknown_node_roles(case, found) if case.hop not in PROFILE_HOPS else ()
    yield from weighed(found, doubts=(*roles, *contradicted(case)))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from closing_remedies(case, "needs")
