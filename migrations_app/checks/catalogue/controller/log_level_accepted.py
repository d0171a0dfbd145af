"""Fails for a log level at which the controller of the target version does not start."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    NotApplicable,
    Remedy,
    SeverityCap,
    Unknown,
)
from migrations_app.checks.evidence import at_value, at_variable
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at, why_values_unknown
from migrations_app.karpenter.hops import hops_from
from migrations_app.karpenter.versions import minor_order

KEY, VARIABLE, LEVELS, LOUDER = "logLevel", "LOG_LEVEL", ("debug", "info", "error"), "info"
FIRST = "0.32"
"""The first minor that reads the variable, and whose chart writes it from the value."""
check = Check(
    __name__,
    title="The controller starts with its log level",
    phase="controller",
    severity="blocker",
    why="From 0.32 on the controller exits at the start unless its log level is debug, info or error: warn is none.",
    how="Reads logLevel of the Helm values, and LOG_LEVEL of the Deployment.",
    reads=("controller",),
    says=("{count} log level is refused", "{count} log levels are refused"),
    hops=hops_from(FIRST),
    sources=(
        "kubernetes-sigs/karpenter@v0.32.0:pkg/operator/options/options.go",
        "aws/karpenter-provider-aws@v0.32.10:charts/karpenter/templates/deployment.yaml",
    ),
    remedy_tools=CHART_TOOLS,
)
WANTED = "debug, info or error"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, values, running = installation(case.inventory), given_values(case.inventory), case.running.release
    if controller is None:
        return (yield NotApplicable("there is no Karpenter Deployment"))
    level = value_at(values.tree, KEY) if values is not None else ABSENT
    variable = controller.env.get(VARIABLE, "")
    if values is not None and level not in (ABSENT, None, "", *LEVELS):
        yield at_value(values, KEY, seen=str(level), wanted=WANTED)
    elif variable and variable not in LEVELS:
        yield at_variable(controller, VARIABLE, seen=variable, wanted=WANTED)
    elif VARIABLE in controller.referred:
        yield Unknown(f"{VARIABLE} is taken from an object that is not read (valueFrom)")
        yield SeverityCap("warning")
    elif values is None and not (running and minor_order(running.minor) >= minor_order(FIRST)):
        yield from _not_shown(case)


def _not_shown(case: CheckContext) -> Iterator[JudgeResult]:
    """Up to 0.31 the Deployment does not show the level, and few installations set one that is refused later."""
    if FIRST in case.hop.entered:
        yield Unknown(why_values_unknown(case.inventory))
        yield SeverityCap("warning")
    else:
        yield NotApplicable(f"the upgrade to {FIRST} settles it")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    level = str(evidence[0].seen).lower()
    if evidence[0].kind == "Deployment":
        yield from chart_values(case, {}, about=f"controller.env: {VARIABLE} is {WANTED}", when="person")
    else:
        about = "the level that is meant, or the next one that leaves out less"
        yield from chart_values(case, {KEY: level if level in LEVELS else LOUDER}, about=about)
