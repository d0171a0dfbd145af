"""Whatever delivers the charts spells their version as the hop's release does."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import spelled
from migrations_app.checks.values import CannotTell, Evidence, How, NotApplicable, Remedy, Word
from migrations_app.inventory.objects import Delivery
from migrations_app.karpenter.hop_spans import ALPHA_LEFT
from migrations_app.karpenter.releases import row_of

check = Check(
    __name__,
    title="Deliveries spell the chart's version as the hop needs it",
    phase="controller",
    severity="info",
    why="Charts and images lose the letter v with 0.35: a version in the other spelling is not found.",
    how="The chart version in Flux and Argo CD objects is compared with the spelling of the hop's release.",
    reads=("deliveries",),
    says=(
        "{count} delivery spells its version in the old way",
        "{count} deliveries spell their version in the old way",
    ),
    hops=(ALPHA_LEFT,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
)
PATHS = {"Application": ("spec.source.chart", "spec.source.targetRevision")}
FLUX = ("spec.chart.spec.chart", "spec.chart.spec.version")


@check.judge
def judge(case: Case) -> Iterator[Word]:
    prefix, before = row_of(case.step.release).tag_prefix, row_of(case.step.start).tag_prefix
    found = [(one, *PATHS.get(one.kind, FLUX)) for one in case.inventory.deliveries.items]
    charts = [(one, path) for one, chart, path in found if str(one.get(chart, "")).startswith("karpenter")]
    if prefix == before or not charts:
        yield NotApplicable("the spelling stays as it is, or no Flux and no Argo CD object names a version")
        return
    for one, path in charts:
        yield from _spelling(case, one, path=path)


def _spelling(case: Case, one: Delivery, *, path: str) -> Iterator[Word]:
    """A range such as >=0.32 has no spelling."""
    version = one.get(path, "")
    if not isinstance(version, str):
        yield CannotTell(f"{one.kind} {one.namespace}/{one.name}: {path} is no text")
    elif version.startswith("v"):
        wanted = spelled(case.step.release)
        yield Evidence(kind=one.kind, namespace=one.namespace, name=one.name, path=path, seen=version, wanted=wanted)


@check.advise
def advise(_case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        how: How = "argocd" if row.kind == "Application" else "flux"
        where = f"# {row.kind} {row.namespace}/{row.name}, together with the hop"
        yield Remedy(how=how, text=f"{where}\n{row.path.rpartition('.')[2]}: {row.wanted}")
