"""Containers that were added to the controller's pod bring the security context that they need."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_value
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, value_at

KEY = "controller.sidecarContainer"
check = Check(
    __name__,
    title="Sidecars of the controller bring their own security context",
    phase="controller",
    severity="info",
    why=(
        "The chart's own context came and went: fixed for all containers at 0.30, for its own only from 0.31 on, and "
        "from 0.34 on the pod's volumes have a group that sidecars may not expect."
    ),
    how="controller.sidecarContainer of the Helm values: each entry needs a securityContext.",
    reads=("controller",),
    says=(
        "{count} sidecar has no security context of its own",
        "{count} sidecars have no security context of their own",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = given_values(case.inventory)
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    if values is None:
        yield Unknown("no Helm record and no Flux or Argo CD object tells the values of the chart karpenter")
        return
    given = value_at(values.tree, KEY)
    if given is ABSENT:
        yield NotApplicable("the controller's pod has no sidecar")
    elif not isinstance(given, list):
        yield Unknown(f"{KEY} is no list")
    else:
        for place, one in enumerate(given):
            if not isinstance(one, dict):
                yield Unknown(f"{KEY}[{place}] is no map")
            elif "securityContext" not in one:
                name = str(one.get("name") or place)
                yield at_value(values, f"{KEY}[{name}].securityContext", seen="absent", wanted="what the sidecar needs")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = ", ".join(row.path.partition("[")[2].partition("]")[0] for row in evidence)
    about = f"Add securityContext to {names} below {KEY}; the pods of the controller are replaced"
    yield from chart_values(case, {}, about=about, when="person")
