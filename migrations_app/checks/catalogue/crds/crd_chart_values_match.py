"""Fails for each difference between karpenter-crd and the controller's chart: version, or webhook values."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import as_json, crd_chart_remedies, helm_remedies, release_at_start
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts import conversion_webhook as facts
from migrations_app.inventory.facts.controller import CRD_CHART, helm_release, installation, records_unread
from migrations_app.inventory.facts.delivery_sources import Values
from migrations_app.karpenter.controller_settings import lost_crd_chart_keys

check = Check(
    __name__,
    title="Both Helm charts agree",
    phase="crds",
    severity="warning",
    why="If the two charts differ, the CRDs are of another release or call another Service.",
    how="Compares the release of both charts, and webhook.* of karpenter-crd with the controller's Service.",
    reads=("controller", "services"),
    says=("{count} value differs between the two charts", "{count} values differ between the two charts"),
    sources=(
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter-crd/values.yaml",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values, unread = facts.crd_values(case.inventory), records_unread(case.inventory)
    if values is None and unread:
        yield Unknown(f"Helm's records could not be read ({unread})")
        return
    if values is None or installation(case.inventory) is None:
        yield NotApplicable("the chart karpenter-crd is not installed, or there is no controller")
        return
    crds, main = helm_release(case.inventory, chart=CRD_CHART), helm_release(case.inventory)
    if crds and main and crds.app_version not in (main.app_version, str(case.hop.release)):
        seen, wanted = crds.app_version, f"{main.app_version}, or {case.hop.release} just before the upgrade"
        yield Evidence(
            kind="HelmRelease", namespace=crds.namespace, name=crds.name, path="chart", seen=seen, wanted=wanted
        )
    for lost in lost_crd_chart_keys(values.tree, case.hop.release):
        yield at_value(values, lost.key, seen=lost.fate, wanted="absent").with_data(value="")
    planned = facts.chart_webhook(case.inventory, case.hop.release)
    if planned is not None:
        yield from _wrong_service(case, values, planned=planned)


def _wrong_service(case: CheckContext, values: Values, *, planned: facts.WebhookAddress) -> Iterator[JudgeResult]:
    real = facts.webhook_service(case.inventory)
    if not planned.converts:
        wanted = f"true: the CRDs of {case.hop.release} convert"
        yield at_value(values, "webhook.enabled", seen="false", wanted=wanted).with_data(value="true")
    elif real is not None:
        differing = {"serviceName": (planned.name, real.name)}
        differing["port"] = (str(planned.port), str(facts.webhook_port_of(real, otherwise=planned.port)))
        if planned.namespace:
            differing = {"serviceNamespace": (planned.namespace, real.namespace), **differing}
        else:
            where = f"{values.kind} {values.namespace}/{values.name}"
            yield Unknown(f"{where} does not tell the namespace of its chart, which the CRDs will call")
        for key, (seen, wanted) in differing.items():
            if seen != wanted:
                yield at_value(values, f"webhook.{key}", seen=seen, wanted=wanted).with_data(value=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    chart_values, reason = facts.crd_values(case.inventory), "the new chart writes the conversion of the CRDs from it"
    rows = {value_key(chart_values, row): row.value("value") for row in evidence if chart_values and row.data}
    if rows:
        values = tuple(HelmValue(key, as_json(value), reason if value else "") for key, value in rows.items())
        yield from helm_remedies(case, values, chart=CRD_CHART)
    if len(rows) < len(evidence):
        yield from crd_chart_remedies(case, release_at_start(case))
