"""Fails for each log setting whose effect changes with the chart of the target version."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.inventory.facts.delivery_sources import Values
from migrations_app.karpenter.hops import ALPHA_LEFT
from migrations_app.karpenter.versions import Release, minor_order

check = Check(
    __name__,
    title="The controller's log settings stay the same",
    phase="controller",
    severity="info",
    why="Log level and format change with the upgrade, and a log configuration that is not enabled has no effect.",
    how="Compares logLevel and logConfig of the Helm values with the defaults of the target chart.",
    reads=("controller",),
    says=("{count} log setting changes with the upgrade", "{count} log settings change with the upgrade"),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v0.33.12:charts/karpenter/templates/deployment.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values, controller, running = given_values(case.inventory), installation(case.inventory), case.running.release
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif values is None or running is None:
        yield Unknown("the Helm values of the chart karpenter, or the running release, are not known")
    else:
        if _enters_minor(case, running, minor=(0, 32)) and _absent(values, "logEncoding", "logConfig.logEncoding"):
            row = at_value(
                values, "logConfig.logEncoding", seen="absent: console becomes json", wanted="console, or json parsed"
            )
            yield row.with_data(value="console")
        if _enters_minor(case, running, minor=(0, 33)) and _absent(values, "logLevel"):
            row = at_value(values, "logLevel", seen="absent: debug becomes info", wanted="debug, where it is needed")
            yield row.with_data(value="debug")
        if (
            case.hop.name == ALPHA_LEFT
            and _configured(values)
            and value_at(values.tree, "logConfig.enabled") is not True
        ):
            seen = "absent or false: logConfig is not mounted"
            yield at_value(values, "logConfig.enabled", seen=seen, wanted="true").with_data(value="true")


def _enters_minor(case: CheckContext, running: Release, *, minor: tuple[int, int]) -> bool:
    return minor_order(running.minor) < minor <= minor_order(case.hop.release.minor)


def _absent(values: Values, *keys: str) -> bool:
    return all(value_at(values.tree, key) is ABSENT for key in keys)


def _configured(values: Values) -> bool:
    log_config = value_at(values.tree, "logConfig")
    return isinstance(log_config, dict) and bool(set(log_config) - {"enabled"})


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values = given_values(case.inventory)
    settings = {value_key(values, row): row.value("value") for row in evidence if values}
    yield from chart_values(case, settings, about="keeps the logs as they are")
