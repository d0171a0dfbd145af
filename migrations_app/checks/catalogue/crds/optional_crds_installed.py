"""Fails for each CRD of an optional feature that is missing or belongs to another Helm release."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.commands import crd_chart_remedies, in_cluster, release_at_start
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter.releases import crd_set

OTHER_RELEASE = "metadata"
"""The path of evidence about a CRD that belongs to another Helm release."""
check = Check(
    __name__,
    title="The CRDs of optional features are installed",
    phase="crds",
    severity="info",
    why="NodeOverlays and CapacityBuffers need their CRDs; other projects use the group of the latter, too.",
    how="Reads the CRDs of the running version whose kinds have no legacy version, and their Helm release.",
    reads=("crds", "controller"),
    says=(
        "{count} CRD of an optional feature is missing or not Karpenter's",
        "{count} CRDs of optional features are missing or not Karpenter's",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.7.0:pkg/apis/crds",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=(*CHART_TOOLS, "kubectl"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    shipped = crd_set(running) if running else None
    if shipped is None:
        yield Unknown(f"the CRDs of the running release are not known: {case.running.how}")
        return
    optional_crds = [row for row in shipped.crds if not row.kind.generation]
    if not optional_crds:
        yield NotApplicable(f"{running} ships no CRD of an optional feature")
    seen = {crd.name: crd for crd in case.inventory.crds.items}
    for row in optional_crds:
        crd = seen.get(row.name)
        if crd is None or row.storage not in crd.served:
            state = "absent" if crd is None else f"serves {', '.join(crd.served) or 'nothing'}"
            name, path = row.name, "spec.versions"
            yield Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=state, wanted=row.storage)
        elif other := _other_release(crd):
            yield at_crd(crd, OTHER_RELEASE, seen=f"belongs to {other}", wanted=f"{CRD_CHART}, or upgraded with care")


def _other_release(crd: CRD) -> str:
    by = managed(crd.metadata)
    return by.name if by.by == "helm" and by.name not in ("", CHART, CRD_CHART) else ""


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    others = [row for row in evidence if row.path == OTHER_RELEASE]
    if others:
        yield in_cluster(group(*map(_agreed, others)))
    if len(others) < len(evidence):
        yield from crd_chart_remedies(case, release_at_start(case))


def _agreed(row: Evidence) -> PersonTask:
    return PersonTask(
        what=f"agree which Helm release keeps {row.name}, and take it out of the values of the other",
        why=f"the CRD {row.seen}, whose owners use it too; Helm refuses {CRD_CHART} where that chart adds it",
        done=f"one Helm release alone keeps {row.name}",
    )
