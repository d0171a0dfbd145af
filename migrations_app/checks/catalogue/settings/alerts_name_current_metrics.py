"""Fails for each Prometheus rule with a metric, label or label value that the target version does not have."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.metric_queries import outdated_queries, rename_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every alert uses metrics that exist",
    phase="controller",
    severity="warning",
    why="An alert on a removed metric never fires again, without any error.",
    how=(
        "Searches the expressions of all PrometheusRules for names, labels and label values of Karpenter "
        "metrics, and compares them with those of the target version."
    ),
    reads=("prometheus_rules",),
    says=(
        "{count} alert or recording rule uses a removed metric or label",
        "{count} alert or recording rules use removed metrics or labels",
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    yield from outdated_queries(case, "prometheus_rules")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from rename_remedies(case, "prometheus_rules", evidence=evidence)
