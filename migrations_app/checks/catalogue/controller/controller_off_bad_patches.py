"""Fails if the running patch is in the table of patches with a known bug."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.karpenter.releases import bad_reasons, find

check = Check(
    __name__,
    title="The running version has no known bug",
    phase="controller",
    severity="warning",
    why="The upgrade relies on behaviour of the running version that does not work in these patches.",
    how="Looks the running version up in the table of patches with known bugs.",
    reads=("controller",),
    says=("Known bug in Karpenter {seen}", "The running version has {count} known bugs"),
    # 1.1 requires that every stored object was rewritten, which only 1.0.6 and later do.
    severity_at={BETA_LEFT: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws#6765",
        "kubernetes-sigs/karpenter#2785",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if running is None or controller is None or find(running) is None:
        yield Unknown(f"whether the running patch is a bad one is not known: {case.running.how}")
        return
    for bad in bad_reasons(running):
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path="spec.template.spec.containers[].image",
            seen=f"{running}: {bad.why}",
            wanted=f"{bad.fixed_in} or later",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = find(case.running.release) if case.running.release else None
    better = row.newest_good if row else None
    yield from chart_values(case, {}, to=better, about=f"{better} has none of the known faults", when="before")
