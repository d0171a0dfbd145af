"""The running controller is no patch with a known fault."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.karpenter.releases import bad_reasons, find

check = Check(
    __name__,
    title="The running patch has no known fault",
    phase="controller",
    severity="warning",
    why="A hop rests on what the running patch does; these patches are known not to do it.",
    how="The running patch is looked up in the table of patches that are known to be bad.",
    reads=("controller",),
    says=("{count} fault of the running patch is known", "{count} faults of the running patch are known"),
    # 1.1 needs what only 1.0.6 and later do: rewriting every stored object.
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
    running, found = case.running.release, installation(case.inventory)
    if running is None or found is None or find(running) is None:
        yield Unknown(f"whether the running patch is a bad one is not known: {case.running.how}")
        return
    for bad in bad_reasons(running):
        yield Evidence(
            kind="Deployment",
            namespace=found.namespace,
            name=found.name,
            path="spec.template.spec.containers[].image",
            seen=f"{running}: {bad.why}",
            wanted=f"{bad.fixed_in} or later",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = find(case.running.release) if case.running.release else None
    better = row.newest_good if row else None
    yield from chart_values(case, {}, to=better, about=f"{better} has none of the known faults", when="before")
