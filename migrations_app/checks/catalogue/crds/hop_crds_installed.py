"""The CRDs that the hop's release needs are installed."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import crd_chart, spelled
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.karpenter.releases import crd_set

check = Check(
    __name__,
    title="The CRDs of the hop's release are installed",
    phase="crds",
    severity="info",
    why=(
        "They are the first step of the hop itself: "
        "the new controller cannot list kinds or versions that are not served."
    ),
    how="Served and stored versions of each CRD are compared with those that the hop's release ships.",
    reads=("crds",),
    says=(
        "{count} CRD has to be brought to the hop's release before the controller",
        "{count} CRDs have to be brought to the hop's release before the controller",
    ),
    resolved_by=("upgrade_crds",),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    coming = crd_set(case.step.release)
    if coming is None:
        yield Unknown(f"the CRDs of {case.step.release} are not known")
        return
    seen = {crd.name: crd for crd in case.inventory.crds.items}
    for row in coming.crds:
        crd = seen.get(row.name)
        if crd is None or not set(row.served) <= set(crd.served) or crd.storage != row.storage:
            yield Evidence(
                kind="CustomResourceDefinition",
                name=row.name,
                path="spec.versions",
                seen=f"{', '.join(sorted(crd.served))}; stored {crd.storage}" if crd else "absent",
                wanted=f"{', '.join(sorted(row.served))}; stored {row.storage}",
            )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from crd_chart(case, spelled(case.step.release))
