"""Fails for each Helm value below webhook in the charts of 1.1 and later, which do not read it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import helm_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, given_values, records_unread
from migrations_app.inventory.facts.conversion_webhook import crd_values
from migrations_app.karpenter.controller_settings import ends_with_webhooks, unread_crd_chart_keys, unread_helm_keys
from migrations_app.karpenter.hops import hops_from

check = Check(
    __name__,
    title="No Helm value sets webhooks",
    phase="cleanup",
    severity="info",
    why=(
        "1.1 has no webhooks and its charts do not read these values: they have no effect and mislead the next reader."
    ),
    how="Reads the values below webhook that the charts karpenter and karpenter-crd were given.",
    reads=("controller",),
    says=("{count} Helm value still sets webhooks", "{count} Helm values still set webhooks"),
    hops=hops_from("1.1+"),
    sources=("aws/karpenter-provider-aws@v1.1.10:charts/karpenter/values.yaml",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    main, crds, coming = given_values(case.inventory), crd_values(case.inventory), case.hop.release
    unread = records_unread(case.inventory)
    if unread and None in (main, crds):
        yield Unknown(f"Helm's records could not be read ({unread}), so not all values are known")
    elif main is None and crds is None:
        yield NotApplicable("nothing tells the values of the charts")
    for values, read in ((main, unread_helm_keys), (crds, unread_crd_chart_keys)):
        for row in read(values.tree, coming) if values else ():
            if values and ends_with_webhooks(row.key, coming):
                yield at_value(values, row.key, seen="given", wanted="absent")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for chart in (CHART, CRD_CHART):
        chart_values = given_values(case.inventory, chart=chart)
        rows = [
            row
            for row in evidence
            if chart_values and (row.namespace, row.name) == (chart_values.namespace, chart_values.name)
        ]
        keys = dict.fromkeys(value_key(chart_values, row) for row in rows if chart_values)
        if keys:
            values = tuple(HelmValue(key, why="no webhook is left to configure") for key in keys)
            yield from helm_remedies(case, values, chart=chart)
