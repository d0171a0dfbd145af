"""Fails for each AWS action that the target version needs and that the controller's IAM role refuses."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.iam_gaps import (
    PROFILE_HOPS,
    allowed_by_name,
    capped_results,
    contradictions,
    gaps_for_part,
    unknown_node_roles,
)
from migrations_app.checks.shared.iam_policies import closing_remedies

check = Check(
    __name__,
    title="The controller has every IAM permission of the target version",
    phase="iam",
    severity="blocker",
    why=(
        "A call that AWS refuses stops launches, terminations or the start of the controller. A condition that no "
        "longer matches refuses as surely as a missing action."
    ),
    reads=("aws.controller_roles",),
    says=(
        "{count} IAM permission of the controller is missing",
        "{count} IAM permissions of the controller are missing",
    ),
    how=(
        "Evaluates every request that the target version makes in this cluster against the role's policies and its "
        "boundary; the settings of the cluster decide which requests those are. It is a warning where the controller "
        "works without the refused request."
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:pkg/operator/operator.go, pkg/providers, pkg/controllers",
        "AWS IAM User Guide, policy evaluation logic",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    gaps_of_roles = gaps_for_part(case, "needs")
    roles = unknown_node_roles(case, gaps_of_roles) if case.hop.name not in PROFILE_HOPS else ()
    doubts = (*roles, *allowed_by_name(gaps_of_roles), *contradictions(case))
    yield from capped_results(gaps_of_roles, doubts=doubts)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from closing_remedies(case, "needs")
