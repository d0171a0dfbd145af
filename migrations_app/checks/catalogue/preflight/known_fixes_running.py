"""The running patch has the fixes that came to several minors at once."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.tables.fix_rows import missing_fixes

check = Check(
    __name__,
    title="The running patch has the known fixes",
    phase="preflight",
    severity="info",
    why="Until the hop lands, nodes are launched by the running patch: with a known fault they may come out wrong.",
    how="The running patch is looked up in the table of fixes that came to several minors at once.",
    reads=("controller",),
    says=(
        "{count} known fault is not fixed in the running patch",
        "{count} known faults are not fixed in the running patch",
    ),
    sources=("aws/karpenter-provider-aws#8665", "aws/karpenter-provider-aws#8664"),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, found = case.running.release, installation(case.inventory)
    if found is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif running is None:
        yield Unknown(f"which patch runs is not known: {case.running.how}")
    else:
        for row, patch in missing_fixes(running):
            yield Evidence(
                kind="Deployment",
                namespace=found.namespace,
                name=found.name,
                path="spec.template.spec.containers[].image",
                seen=f"{running}: {row.fault}",
                wanted=f"{patch} or later",
            )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    lands = case.step.release
    if any(missing_fixes(lands)):
        task = PersonTask(what="take a later hop for the rest", why=f"not every fix is in {lands}, on which this lands")
    else:
        why = f"it lands on {lands}, which brings the fix: CRDs first, then the controller"
        task = PersonTask(what="take the hop", why=why)
    yield in_cluster(task)
