"""Fails for each Grafana panel with a metric or label value that the target version does not have."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.metric_queries import outdated_queries, rename_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every dashboard uses metrics that exist",
    phase="controller",
    severity="info",
    why="A panel on a removed metric stays empty and looks like a quiet cluster.",
    how=(
        "Searches ConfigMaps labelled grafana_dashboard for names, labels and label values of Karpenter "
        "metrics, and compares them with those of the target version."
    ),
    reads=("dashboards",),
    says=("{count} panel uses a removed metric or label", "{count} panels use removed metrics or labels"),
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
    yield from outdated_queries(case, "dashboards")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from rename_remedies(case, "dashboards", evidence=evidence)
