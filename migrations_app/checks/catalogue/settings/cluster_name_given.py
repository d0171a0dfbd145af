"""Fails for each controller without a cluster name in a variable or flag."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import ChangeTime
from migrations_app.checks.evidence import at_variable
from migrations_app.checks.remedies.aws import unread_reason
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.controller_settings import LAST_READ
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.versions import minor_order

VARIABLE, FLAG, KEY = "CLUSTER_NAME", "--cluster-name", "aws.clusterName"
MISSING = "CLUSTER"
check = Check(
    __name__,
    title="The controller has the cluster name",
    phase="controller",
    severity="blocker",
    why="From 0.33 on the controller exits when neither a variable nor a flag names its cluster.",
    how="Reads CLUSTER_NAME and --cluster-name of the Deployment; up to 0.32 karpenter-global-settings, too.",
    reads=("controller",),
    says=("{count} controller has no cluster name", "{count} controllers have no cluster name"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v0.33.12:pkg/operator/options/options_validation.go",
        "aws/karpenter-provider-aws@v1.14.1:pkg/operator/options/options_validation.go",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif controller.hides(VARIABLE):
        yield Unknown(f"{VARIABLE} may be taken from an object that is not read")
    elif not controller.env.get(VARIABLE) and not _by_flag(controller):
        yield from _without_name(case, controller)


def _by_flag(controller: Installation) -> bool:
    arguments = (
        arg for container in controller.workload.template.spec.containers or () for arg in container.args or ()
    )
    return any(arg.partition("=")[0] == FLAG for arg in arguments)


def _without_name(case: CheckContext, controller: Installation) -> Iterator[JudgeResult]:
    """Results for a controller with neither variable nor flag: until 0.32 the ConfigMap may contain the name, and
    another check carries it over."""
    running = case.running.release
    if running is None:
        yield Unknown(f"{VARIABLE} is absent, and which release runs is not known")
    elif minor_order(running.minor) > minor_order(LAST_READ):
        yield at_variable(controller, VARIABLE, seen="absent", wanted="the name of the cluster in EKS")
    elif isinstance(case.inventory.settings, Unseen):
        reason = f"{VARIABLE} is absent, and settings could not be read: {case.inventory.settings.why}"
        yield Unknown(reason, unread_reason("settings", case.inventory.settings))
    elif not _in_config_map(case.inventory):
        yield at_variable(controller, VARIABLE, seen="absent", wanted="the name of the cluster in EKS")


def _in_config_map(inventory: Inventory) -> bool:
    return any((config.data or {}).get(KEY) for config in inventory.settings.items)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    name = case.inventory.aws.place.cluster or MISSING
    when: ChangeTime = "person" if name == MISSING else "landing"
    yield from chart_values(case, {"settings.clusterName": name}, about="the name of the cluster in EKS", when=when)
