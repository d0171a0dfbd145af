"""Fails for each VMRule and each scaler of KEDA with a metric, label or label value that the target version does not
have."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.metric_queries import outdated_queries, rename_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every VMRule and KEDA scaler uses metrics that exist",
    phase="controller",
    severity="warning",
    why="A scaler whose query finds nothing scales to its minimum or fallback, and a rule never fires again.",
    how=(
        "Searches the expressions of VMRules and the queries in triggers of ScaledObjects and ScaledJobs for names, "
        "labels and label values of Karpenter metrics, and compares them with those of the target version."
    ),
    reads=("other_queries",),
    says=("{count} query uses a removed metric or label", "{count} queries use removed metrics or labels"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "VictoriaMetrics/operator@master:api/operator/v1beta1/vmrule_types.go",
        "kedacore/keda@main:apis/keda/v1alpha1/scaledobject_types.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    yield from outdated_queries(case, "other_queries")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from rename_remedies(case, "other_queries", evidence=evidence)
