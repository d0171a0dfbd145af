"""No ServiceMonitor or PodMonitor relabels metrics by names that the hop's release no longer has."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.shared.metric_queries import outdated_queries, renamed_queries
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Monitors keep and drop metrics that are there",
    phase="controller",
    severity="warning",
    why="A relabeling that keeps or drops a metric by its old name lets the new one pass, or loses it.",
    how=(
        "The regular expressions in metricRelabelings of ServiceMonitors and PodMonitors that name Karpenter, against "
        "the metrics that the hop's release has."
    ),
    reads=("monitors",),
    says=("{count} relabeling names a metric that is gone", "{count} relabelings name metrics that are gone"),
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
    yield from renamed_queries(case, "monitors", evidence=evidence)
