"""No Helm value speaks of webhooks where there are none any more."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_value
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import given_values
from migrations_app.inventory.facts.conversion_webhook import crd_values
from migrations_app.karpenter.controller_settings import ends_with_webhooks, unread_crd_chart_keys, unread_helm_keys
from migrations_app.karpenter.hops import hops_from

check = Check(
    __name__,
    title="No Helm value speaks of webhooks any more",
    phase="cleanup",
    severity="info",
    why="1.1 has no webhooks, its charts read no value about them: nothing is lost, but they mislead their readers.",
    how="The values below webhook that the charts karpenter and karpenter-crd were given.",
    reads=("controller",),
    says=("{count} value still speaks of webhooks", "{count} values still speak of webhooks"),
    hops=hops_from("1.1+"),
    sources=("aws/karpenter-provider-aws@v1.1.10:charts/karpenter/values.yaml",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    main, crds, coming = given_values(case.inventory), crd_values(case.inventory), case.step.release
    if main is None and crds is None:
        yield NotApplicable("nothing tells the values of the charts")
    for values, read in ((main, unread_helm_keys), (crds, unread_crd_chart_keys)):
        for unread in read(values.tree, coming) if values else ():
            if values and ends_with_webhooks(unread.key, coming):
                yield at_value(values, unread.key, seen="given", wanted="absent")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    keys = dict.fromkeys(row.path.partition("webhook.")[2] for row in evidence)
    about = "With this hop, here and in the values of karpenter-crd"
    yield from chart_values(case, {f"webhook.{key}": "" for key in keys}, to=case.step.release, about=about)
