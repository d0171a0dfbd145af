"""Fails for each Helm value without which the target chart cannot be rendered."""

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
from migrations_app.checks.changes import ChangeTime
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at, why_values_unknown
from migrations_app.karpenter.hops import BETA_LEFT, hops_from
from migrations_app.karpenter.tables.helm_rows import REQUIRED_VALUES

VARIABLE, MISSING = "CLUSTER_NAME", "CLUSTER"
check = Check(
    __name__,
    title="The target chart has every value that it requires",
    phase="controller",
    severity="blocker",
    why="From 1.5 on the chart is not rendered without settings.clusterName: the upgrade stops after that of the CRDs.",
    how="Looks for settings.clusterName in the values given to the chart karpenter, where the target is 1.5 or newer.",
    reads=("controller",),
    says=("{count} Helm value that the chart requires is not given", "{count} required Helm values are not given"),
    hops=hops_from(BETA_LEFT),
    sources=tuple(row.source for row in REQUIRED_VALUES),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = given_values(case.inventory)
    required = [row for row in REQUIRED_VALUES if case.hop.release >= row.since]
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
    elif not required:
        yield NotApplicable(f"the chart of {case.hop.release} requires no value")
    elif values is None:
        yield Unknown(why_values_unknown(case.inventory))
        yield SeverityCap("info")  # Helm refuses by itself before it changes the release
    else:
        for row in required:
            given = value_at(values.tree, row.key)
            if given is ABSENT or given == "":
                seen = "absent" if given is ABSENT else "empty"
                yield at_value(values, row.key, seen=seen, wanted="the name of the cluster in EKS")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    controller, values = installation(case.inventory), given_values(case.inventory)
    name = (controller and controller.env.get(VARIABLE)) or case.inventory.aws.place.cluster or MISSING
    keys = {value_key(values, row): name for row in evidence if values}
    when: ChangeTime = "person" if name == MISSING else "landing"
    yield from chart_values(case, keys, about="the chart requires the name of the cluster in EKS", when=when)
