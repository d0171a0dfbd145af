"""Fails for each field that the running version writes and that the schema of its CRD lacks."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.commands import crd_chart_remedies, release_at_start
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter.crds import CLAIMS, CLASSES, POOLS, marks_of
from migrations_app.karpenter.hops import BETA_LEFT, hops_from
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release

check = Check(
    __name__,
    title="Every CRD has the fields of the running version",
    phase="crds",
    severity="blocker",
    why=(
        "The API server drops or refuses fields that a CRD does not know: nodes are not launched, settings are lost "
        "without an error."
    ),
    how=(
        "Compares a few fields that were added by a known release with the schema of each served version. From 1.1 "
        "on it is a warning: the first step of the upgrade installs the CRDs, and no object is converted then."
    ),
    reads=("crds", "controller"),
    says=("{count} field is missing from a CRD", "{count} fields are missing from CRDs"),
    severity_at=dict.fromkeys(hops_from(BETA_LEFT), "warning"),
    resolved_by=("upgrade_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds",
        "aws/karpenter-provider-aws#6288",
        "chanzuckerberg/cztack#910",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    karpenter_crds = [crd for crd in case.inventory.crds.items if crd.name in (POOLS, CLAIMS, CLASSES)]
    if not karpenter_crds:
        yield NotApplicable("none of the CRDs of NodePools, NodeClaims and EC2NodeClasses is installed")
    elif running is None or find(running) is None:
        yield Unknown(f"which fields the running release writes is not known: {case.running.how}")
    else:
        for crd in karpenter_crds:
            yield from _missing_fields(crd, running)


def _missing_fields(crd: CRD, running: Release) -> Iterator[JudgeResult]:
    for version in crd.spec.versions or ():
        marks = marks_of(crd.name, version.name, running=running) if version.served else ()
        if marks and version.fields is None:
            yield Unknown(f"{crd.name}: the schema of {version.name} was not seen")
        missing = [mark for mark in marks if version.fields is not None and mark.path not in version.fields]
        for mark in missing:
            path = f"spec.versions[{version.name}].schema {mark.path}"
            yield at_crd(crd, path, seen=f"absent: {mark.loss}", wanted=f"as {mark.first} and later have it")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from crd_chart_remedies(case, release_at_start(case))
