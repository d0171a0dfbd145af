"""Whoever reads the controller's metrics finds them on the port of the hop's release."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at, at_controller
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.inventory.objects.karpenter import Service
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.karpenter.releases import find

KEY = "controller.metrics.port"
SECOND = 8001
"""Where 0.32 to 1.0 serve the metrics of the webhook, on the host itself with hostNetwork."""
check = Check(
    __name__,
    title="Metrics stay on their port",
    phase="controller",
    severity="info",
    why="Scrape jobs and policies that name the port find nothing there; on the host two ports may clash.",
    how="The port http-metrics of the controller's Service, against the default of the hop's chart and the values.",
    reads=("controller", "services"),
    says=("{count} port of the controller changes", "{count} ports of the controller change"),
    hops=("0.29", "0.32", CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.0.0:charts/karpenter/values.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found, coming = installation(case.inventory), find(case.step.release)
    if found is None or not case.inventory.services.items:
        yield NotApplicable("there is no Karpenter Deployment, or no Service before it")
        return
    values = given_values(case.inventory)
    given = value_at(values.tree, KEY) if values is not None else ABSENT
    after = given if isinstance(given, int) else coming.metrics_port if coming else None
    if after is None:
        yield Unknown(f"the port of {case.step.release} is not known")
    for service in case.inventory.services.items if after is not None else ():
        now = _metrics(service)
        if service.namespace == found.namespace and now not in (None, after):
            wanted = f"{after} in whatever scrapes it"
            yield at(service, "spec.ports[http-metrics]", seen=f"{now} now", wanted=wanted).with_data(port=str(now))
    entered = case.running.release is not None and case.hop == "0.32"
    if entered and found.workload.template.spec.host_network:
        yield at_controller(
            found, "hostNetwork", seen=f"{SECOND} will be used on the host", wanted="webhook.metrics.port"
        )


def _metrics(service: Service) -> int | None:
    return next((port.port for port in service.spec.ports or () if port.name == "http-metrics"), None)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    now = next((row.value("port") for row in evidence if row.kind == "Service"), "")
    given = {KEY: now} if now else {"webhook.metrics.port": "8002"}
    yield from chart_values(case, given, about="keeps the port where scrapers cannot follow")
