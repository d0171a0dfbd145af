"""Fails for each bug that several minors fixed in a patch and that the running version still has."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.tables.fix_rows import missing_fixes

check = Check(
    __name__,
    title="The running version has all known fixes",
    phase="preflight",
    severity="info",
    why="Until the upgrade the running version launches the nodes: with a known bug they may be wrong.",
    how="Looks the running version up in the table of fixes that were made in several minors.",
    reads=("controller",),
    says=(
        "{count} known bug is not fixed in the running version",
        "{count} known bugs are not fixed in the running version",
    ),
    sources=("aws/karpenter-provider-aws#8665", "aws/karpenter-provider-aws#8664"),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif running is None:
        yield Unknown(f"which patch runs is not known: {case.running.how}")
    else:
        for row, patch in missing_fixes(running):
            yield Evidence(
                kind="Deployment",
                namespace=controller.namespace,
                name=controller.name,
                path="spec.template.spec.containers[].image",
                seen=f"{running}: {row.fault}",
                wanted=f"{patch} or later",
            )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    target_release = case.hop.release
    if any(missing_fixes(target_release)):
        task = PersonTask(
            what="take a later upgrade for the rest", why=f"not every fix is in {target_release}, the target version"
        )
    else:
        reason = f"its target version {target_release} has the fix: CRDs first, then the controller"
        task = PersonTask(what="take the upgrade", why=reason)
    yield in_cluster(task)
