"""Fails for each Service or monitor that uses a metrics port which changes with the target chart."""

from collections.abc import Iterator

from migrations_app.checks import base
from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_controller, at_object
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.karpenter.hops import CONVERTED, hops_between
from migrations_app.karpenter.releases import metrics_port

KEY = "controller.metrics.port"
WEBHOOK_KEY = "webhook.metrics.port"
SCRAPERS = "scrape jobs outside of ServiceMonitors and PodMonitors"
SECOND = 8001
"""The port on which 0.32 to 1.0 serve the metrics of the webhook; with hostNetwork, on the host itself."""
check = Check(
    __name__,
    title="The metrics port stays the same",
    phase="controller",
    severity="info",
    why="Scrape jobs and policies that name the port find nothing there; on the host network two ports may conflict.",
    how=(
        "Compares the port of the controller's Service and of monitors that name Karpenter with the target chart and "
        "its values."
    ),
    reads=("controller", "services", "monitors"),
    says=("{count} controller port changes", "{count} controller ports change"),
    hops=(*hops_between("0.29", "0.32"), CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.0.0:charts/karpenter/values.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    values = given_values(case.inventory)
    port_value = value_at(values.tree, KEY) if values is not None else ABSENT
    after = port_value if isinstance(port_value, int) else metrics_port(case.hop.release)
    if after is None:
        yield Unknown(f"the port of {case.hop.release} is not known")
    home = [service for service in case.inventory.services.items if service.namespace == controller.namespace]
    services = [service for service in home if service.metrics_port]
    for service in services if after is not None else ():
        now = service.metrics_port
        if now != after:
            wanted = f"{after} in {SCRAPERS}"
            row = at_object(service, "spec.ports[http-metrics]", seen=f"{now} now", wanted=wanted)
            yield row.with_data(key=KEY, port=str(now))
    before = port_value if isinstance(port_value, int) else metrics_port(case.running.release)
    for monitor in case.inventory.monitors.items:
        if before != after and before in monitor.numbers:
            row = at_object(monitor, "spec", seen=f"scrapes port {before}", wanted=f"{after}, or the name http-metrics")
            yield row.with_data(key=KEY, port=str(before))
    if not services and after is not None and before != after:
        # A scrape job may contain the port number of a pod; karpdash does not read scrape jobs.
        yield base.ManualCheck(
            f"metrics move from {before or 'a port not known'} to {after}: look for it in {SCRAPERS}"
        )
    entered = case.running.release is not None and case.hop.name == "0.32"
    chosen = values is not None and isinstance(value_at(values.tree, WEBHOOK_KEY), int)
    if entered and controller.workload.template.spec.host_network and not chosen:
        row = at_controller(controller, "hostNetwork", seen=f"{SECOND} will be used on the host", wanted=WEBHOOK_KEY)
        yield row.with_data(key=WEBHOOK_KEY, port="8002")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    # The first of several rows with the same key counts.
    values = {row.value("key"): row.value("port") for row in reversed(evidence)}
    yield from chart_values(case, values, about="keeps the port where scrapers cannot follow")
