"""Fails for each value given to the chart that no release of the chart has."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import given_values, why_values_unknown
from migrations_app.karpenter.controller_settings import unknown_helm_keys

check = Check(
    __name__,
    title="Every Helm value exists in the chart",
    phase="controller",
    severity="warning",
    why="Helm ignores a misspelled value without an error: the setting keeps its default.",
    how="Compares the names of the values given to the chart karpenter with those that any release of it reads.",
    reads=("controller",),
    says=(
        "{count} Helm value exists in no version of the chart",
        "{count} Helm values exist in no version of the chart",
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = given_values(case.inventory)
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
    elif values is None:
        yield Unknown(why_values_unknown(case.inventory))
    else:
        for key in unknown_helm_keys(values.tree):
            yield at_value(values, key, seen="read by no release of the chart", wanted="absent, or the right name")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values = given_values(case.inventory)
    keys = {value_key(values, row): "" for row in evidence if values}
    yield from chart_values(case, keys, about="no release reads it")
