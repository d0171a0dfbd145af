"""Fails for each chart version of Flux or Argo CD that is spelled as no published chart is."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.chart_versions import ChartFields, at_version, version_remedy
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.delivery_sources import below, chart_place, source_of
from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.objects.base import WholeObject
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import parse

CHARTS, TAG = (CHART, CRD_CHART), ("ref", "tag")
check = Check(
    __name__,
    title="Every chart version that GitOps requests exists",
    phase="controller",
    severity="warning",
    why="Chart versions begin with v up to 0.34 and do not from 0.35 on: the other spelling is never found.",
    how=(
        "Compares the chart version in Flux HelmReleases, in the OCIRepositories that they name, and in each source of "
        "Argo CD Applications with the spelling of its minor."
    ),
    reads=("deliveries", "sources"),
    says=("{count} requested chart version does not exist", "{count} requested chart versions do not exist"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("flux", "argocd"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    charts = [*_chart_versions(case)]
    if not charts:
        yield NotApplicable("no Flux HelmRelease and no Argo CD Application names a chart of Karpenter")
    for whole_object, fields in charts:
        version = str(below(whole_object.spec or {}, fields) or "")
        release = parse(version)
        row = find(release) if release else None
        right = f"{row.tag_prefix}{release}" if row else version
        if version.strip() != right:
            yield at_version(whole_object, fields, given=version, seen=version, wanted=right, right=right)


def _chart_versions(case: CheckContext) -> Iterator[tuple[WholeObject, ChartFields]]:
    """Delivery objects that name a chart of Karpenter, each with the fields down to the chart version."""
    for delivery in case.inventory.deliveries.items:
        places = [chart_place(delivery.kind, delivery.spec or {}, chart=chart) for chart in CHARTS]
        yield from ((delivery, (*place.at, place.version)) for place in places if place is not None)
        source = source_of(case.inventory, delivery)
        if source is not None and text(source, "spec.url").rpartition("/")[2] in CHARTS and below(source.spec, TAG):
            yield source, TAG


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from map(version_remedy, evidence)
