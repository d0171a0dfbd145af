"""Fails for each CRD whose versions are neither those of the running version nor those of the target version."""

from collections.abc import Iterable, Iterator, Mapping

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import crd_chart_remedies, dropped_versions, release_at_start
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import installation, parsed_gates
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
    how="Compares served and stored versions of each CRD, optional ones by their gate, with what the release ships.",
    reads=("crds", "controller"),
    says=("{count} CRD does not match the running version", "{count} CRDs do not match the running version"),
    resolved_by=("upgrade_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws#7276",
        "kubernetes-sigs/karpenter@v1.7.0:pkg/controllers/controllers.go",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    shipped = crd_set(running) if running else None
    if shipped is None:
        return (yield Unknown(f"the CRDs of the running release are not known: {case.running.how}"))
    seen = {crd.name: crd for crd in case.inventory.crds.items}
    coming, controller = crd_set(case.hop.release), installation(case.inventory)
    gates = parsed_gates(controller) if controller else {}
    for row in shipped.crds:
        same = _same_versions(row, seen.get(row.name)) or _matches_target(row, seen, coming=coming)
        # Kinds without a generation belong to optional features: each is watched while the gate of its name is on.
        if not same and (row.kind.generation or gates.get(row.kind.kind)):
            crd = seen.get(row.name)
            told = "absent" if crd is None else _spoken(crd.served, crd.storage) or "nothing served"
            kind, wanted = "CustomResourceDefinition", _spoken(row.served, row.storage)
            yield Evidence(kind=kind, name=row.name, path="spec.versions", seen=told, wanted=wanted)


def _spoken(served: Iterable[str], storage: str) -> str:
    return ", ".join(f"{version} (stored)" if version == storage else version for version in sorted(served))


def _same_versions(row: Crd, crd: CRD | None) -> bool:
    if not row.kind.generation:  # CapacityBuffer is installed by other projects, too, with versions of their own
        return crd is not None and row.storage in crd.served
    return crd is not None and set(crd.served) == set(row.served) and crd.storage == row.storage


def _matches_target(row: Crd, seen: Mapping[str, CRD], *, coming: CrdSet | None) -> bool:
    """Whether the CRD is already that of the target version: CRDs are upgraded before the controller. One that the
    target does not ship may be absent once every other one is that of the target."""
    shipped = [one for one in coming.crds if one.kind.generation] if coming and row.kind.generation else []
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
