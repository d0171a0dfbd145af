"""Fails for each sidecar in the Helm values that has no securityContext of its own."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_value
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, value_at, why_values_unknown

KEY = "controller.sidecarContainer"
check = Check(
    __name__,
    title="Every controller sidecar has its own security context",
    phase="controller",
    severity="info",
    why=(
        "The chart's security context changed: with 0.30 it covered all containers, from 0.31 on only the "
        "controller's, and from 0.34 on the pod's volumes have a group that sidecars may not expect."
    ),
    how="Reads controller.sidecarContainer of the Helm values: each entry needs a securityContext.",
    reads=("controller",),
    says=("{count} controller sidecar has no security context", "{count} controller sidecars have no security context"),
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
        yield Unknown(why_values_unknown(case.inventory))
        return
    sidecars = value_at(values.tree, KEY)
    if sidecars is ABSENT:
        yield NotApplicable("the controller's pod has no sidecar")
    elif not isinstance(sidecars, list):
        yield Unknown(f"{KEY} is no list")
    else:
        for place, sidecar in enumerate(sidecars):
            if not isinstance(sidecar, dict):
                yield Unknown(f"{KEY}[{place}] is no map")
            elif "securityContext" not in sidecar:
                name = str(sidecar.get("name") or place)
                yield at_value(values, f"{KEY}[{name}].securityContext", seen="absent", wanted="what the sidecar needs")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = ", ".join(row.path.partition("[")[2].partition("]")[0] for row in evidence)
    about = f"Add securityContext to {names} below {KEY}; the pods of the controller are replaced"
    yield from chart_values(case, {}, about=about, when="person")
