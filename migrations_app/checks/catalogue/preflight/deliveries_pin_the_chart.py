"""Fails for each delivery of Flux or Argo CD whose range of chart versions reaches beyond the running minor."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.chart_versions import ChartFields, at_version, version_remedy
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.delivery_sources import ChartDelivery, below, chart_deliveries, source_of
from migrations_app.inventory.objects.base import WholeObject
from migrations_app.karpenter.releases import RELEASES, find
from migrations_app.karpenter.version_ranges import admits, is_range
from migrations_app.karpenter.versions import Release, minor_order, release

SEMVER = ("ref", "semver")
check = Check(
    __name__,
    title="No delivery upgrades Karpenter by itself",
    phase="preflight",
    severity="warning",
    why=(
        "From a range of chart versions Flux and Argo CD install the newest that it takes: past the stops of the "
        "upgrade, and before its checks pass."
    ),
    how=(
        "Compares ranges of chart versions in Flux HelmReleases, in the OCIRepositories that they name, and in Argo CD "
        "Applications with the releases after the running minor. No version at all takes the newest."
    ),
    reads=("deliveries", "sources"),
    says=(
        "{count} delivery takes releases beyond the running minor",
        "{count} deliveries take releases beyond the running minor",
    ),
    sources=(
        "fluxcd/helm-controller@main:docs/spec/v2/helmreleases.md",
        "argoproj/argo-cd@master:docs/user-guide/tracking_strategies.md",
    ),
    remedy_tools=("flux", "argocd"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    deliveries = [delivery for chart in (CHART, CRD_CHART) for delivery in chart_deliveries(case.inventory, chart)]
    if not deliveries:
        yield NotApplicable("neither Flux nor Argo CD delivers a chart of Karpenter")
    running = case.running.release or case.hop.start
    later = [
        release(patch.version) for row in RELEASES if row.order > minor_order(running.minor) for patch in row.patches
    ]
    for owner, fields in _places(case, deliveries):
        version = str(below(owner.spec or {}, fields) or "")
        if is_range(version) and (taken := [one for one in later if admits(version, one)]):
            seen = f"{version or 'none'}: takes {max(taken, key=lambda one: one.order)}"
            wanted, right = "one version, and the next when it is its turn", f"{_prefix(running)}{running}"
            yield at_version(owner, fields, given=version, seen=seen, wanted=f"{right}: {wanted}", right=right)


def _places(case: CheckContext, deliveries: list[ChartDelivery]) -> Iterator[tuple[WholeObject, ChartFields]]:
    """Each object that names the version of a chart, with the fields down to it."""
    for chart_delivery in deliveries:
        source = source_of(case.inventory, chart_delivery.delivery)
        if chart_delivery.place is not None:
            yield chart_delivery.delivery, (*chart_delivery.place.at, chart_delivery.place.version)
        elif source is not None and below(source.spec or {}, SEMVER):
            yield source, SEMVER


def _prefix(running: Release) -> str:
    """What the chart version has before the release."""
    row = find(running)
    return row.tag_prefix if row else ""


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from map(version_remedy, evidence)
