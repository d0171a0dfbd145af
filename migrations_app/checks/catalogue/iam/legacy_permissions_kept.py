"""Fails for each action on capacity of Provisioners that the controller's role refuses to 0.32."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.shared.iam_gaps import MIXED_HOPS, gap_results, gaps_for_part, has_legacy_capacity
from migrations_app.checks.shared.iam_policies import closing_remedies

check = Check(
    __name__,
    title="0.32 may still manage the capacity of Provisioners",
    phase="iam",
    severity="blocker",
    why=(
        "With the policy of 0.32 alone the controller can neither replace nor terminate what a Provisioner launched: "
        "such nodes drain and their instances stay."
    ),
    reads=("provisioners", "machines", "nodes", "aws.controller_roles"),
    says=(
        "{count} IAM action on Provisioner capacity is refused to 0.32",
        "{count} IAM actions on Provisioner capacity are refused to 0.32",
    ),
    how=(
        "Evaluates the requests of 0.32 on resources with the tag karpenter.sh/provisioner-name against the role's "
        "policies."
    ),
    hops=MIXED_HOPS,
    sources=(
        "aws/karpenter-provider-aws@v0.32.10:website/content/en/preview/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.33.10:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("terraform", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not has_legacy_capacity(case):
        yield NotApplicable("no Provisioner, Machine or node of theirs is left")
        return
    yield from gap_results(gaps_for_part(case, "provisioners"))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from closing_remedies(case, "provisioners")
