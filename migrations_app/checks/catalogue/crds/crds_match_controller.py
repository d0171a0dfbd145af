"""Fails for each CRD whose versions are neither those of the running version nor those of the target version."""

from collections.abc import Iterator, Mapping

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import crd_chart_remedies, dropped_versions, release_at_start
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter.crds import Crd, CrdSet
from migrations_app.karpenter.releases import crd_set

check = Check(
    __name__,
    title="The CRDs match the running version",
    phase="crds",
    severity="blocker",
    why=(
        "Helm never upgrades the CRDs in the controller's chart. On older CRDs the controller restarts, or its "
        "fields are dropped."
    ),
    how="Compares served and stored versions of each CRD with those that the running version ships.",
    reads=("crds", "controller"),
    says=("{count} CRD does not match the running version", "{count} CRDs do not match the running version"),
    resolved_by=("upgrade_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws#7276",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    shipped = crd_set(running) if running else None
    if shipped is None:
        yield Unknown(f"the CRDs of the running release are not known: {case.running.how}")
        return
    seen = {crd.name: crd for crd in case.inventory.crds.items}
    coming = crd_set(case.hop.release)
    for row in shipped.crds:
        # Kinds without a generation (NodeOverlay...) belong to optional features, which are off by default.
        same = _same_versions(row, seen.get(row.name)) or _matches_target(row, seen, coming=coming)
        if row.kind.generation and not same:
            yield Evidence(
                kind="CustomResourceDefinition",
                name=row.name,
                path="spec.versions",
                seen=spoken(seen.get(row.name)),
                wanted=", ".join(f"{v} (stored)" if v == row.storage else v for v in sorted(row.served)),
            )


def spoken(crd: CRD | None) -> str:
    if crd is None:
        return "absent"
    return ", ".join(f"{v} (stored)" if v == crd.storage else v for v in sorted(crd.served)) or "nothing served"


def _same_versions(row: Crd, crd: CRD | None) -> bool:
    return crd is not None and set(crd.served) == set(row.served) and crd.storage == row.storage


def _matches_target(row: Crd, seen: Mapping[str, CRD], *, coming: CrdSet | None) -> bool:
    """Whether the CRD is already that of the target version: CRDs are upgraded before the controller. One that the
    target does not ship may be absent once every other one is that of the target."""
    shipped = [one for one in coming.crds if one.kind.generation] if coming else []
    later = next((one for one in shipped if one.name == row.name), None)
    if later is not None:
        return _same_versions(later, seen.get(row.name))
    return row.name not in seen and bool(shipped) and all(_same_versions(one, seen.get(one.name)) for one in shipped)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    running, coming = release_at_start(case) or case.hop.start, case.hop.release
    # After a rollback too far: the API server refuses CRDs that lack a stored version, those of the target have it.
    refused = dropped_versions(case.inventory, running) and not dropped_versions(case.inventory, coming)
    yield from crd_chart_remedies(case, coming if refused else running)
