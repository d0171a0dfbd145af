"""Every value given to the chart is one that some release of it reads."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import given_values
from migrations_app.karpenter.controller_settings import unknown_helm_keys

check = Check(
    __name__,
    title="Every Helm value has a name that a chart knows",
    phase="controller",
    severity="warning",
    why="A misspelt value is passed over in silence: what it was meant to set has its default.",
    how="The names of the values given to the chart karpenter, against those that any release of it reads.",
    reads=("controller",),
    says=("{count} Helm value is read by no release", "{count} Helm values are read by no release"),
    sources=("aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = given_values(case.inventory)
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
    elif values is None:
        yield Unknown("no Helm record and no Flux or Argo CD object tells the values of the chart karpenter")
    else:
        for key in unknown_helm_keys(values.tree):
            yield at_value(values, key, seen="read by no release of the chart", wanted="absent, or the right name")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values = given_values(case.inventory)
    keys = {value_key(values, row): "" for row in evidence if values}
    yield from chart_values(case, keys, about="nobody reads it")
