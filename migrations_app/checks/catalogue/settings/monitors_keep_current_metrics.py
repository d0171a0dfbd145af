"""Fails for each metric relabeling with a metric or label value that the target version does not have."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.metric_queries import outdated_queries, rename_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every metric relabeling uses metrics that exist",
    phase="controller",
    severity="warning",
    why="A relabeling that keeps or drops a metric by its old name does not drop the new one, or loses it.",
    how=(
        "Compares the regular expressions in metricRelabelings of ServiceMonitors and PodMonitors that name "
        "Karpenter with the metrics of the target version."
    ),
    reads=("monitors",),
    says=("{count} relabeling uses a removed metric", "{count} relabelings use removed metrics"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "prometheus-operator/prometheus-operator@main:pkg/apis/monitoring/v1",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    yield from outdated_queries(case, "monitors")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from rename_remedies(case, "monitors", evidence=evidence)
