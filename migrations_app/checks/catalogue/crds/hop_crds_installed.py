"""Fails for each CRD that is not yet of the target version."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import crd_chart_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.crd_fields import is_schema_unseen, missing_fields
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter.crds import Crd
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release

MAX_CRDS_SHOWN = 3
"""The most fields of a CRD that evidence names; later releases add many."""

check = Check(
    __name__,
    title="The CRDs of the target version are installed",
    phase="crds",
    severity="info",
    why=(
        "The CRDs are the first step of the upgrade: the new controller cannot list kinds or versions that are not "
        "served."
    ),
    how="Compares served and stored versions and a few fields of each CRD with those that the target version ships.",
    reads=("crds",),
    says=("{count} CRD must be upgraded before the controller", "{count} CRDs must be upgraded before the controller"),
    resolved_by=("upgrade_crds",),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    coming = crd_set(case.hop.release)
    if coming is None:
        yield Unknown(f"the CRDs of {case.hop.release} are not known")
        return
    seen = {crd.name: crd for crd in case.inventory.crds.items}
    for row in coming.crds:
        yield from _crd_result(seen.get(row.name), row, release=case.hop.release)


def _crd_result(crd: CRD | None, row: Crd, *, release: Release) -> Iterator[JudgeResult]:
    lacking = missing_fields(crd, row, release=release) if crd else ()
    if crd is None or not set(row.served) <= set(crd.served) or crd.storage != row.storage or lacking:
        without = f"; without {', '.join(lacking[:MAX_CRDS_SHOWN])}" if lacking else ""
        yield Evidence(
            kind="CustomResourceDefinition",
            name=row.name,
            path="spec.versions",
            seen=f"{', '.join(sorted(crd.served))}; stored {crd.storage}{without}" if crd else "absent",
            wanted=f"{', '.join(sorted(row.served))}; stored {row.storage}{f', as of {release}' if lacking else ''}",
        )
    elif is_schema_unseen(crd, row, release=release):
        yield Unknown(f"{row.name}: the schema of a served version was not seen")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from crd_chart_remedies(case, case.hop.release)
