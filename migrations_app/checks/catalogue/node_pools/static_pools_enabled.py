"""Fails for each NodePool with spec.replicas while the feature gate StaticCapacity is off."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import WHOLE, at_field, split_malformed
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import given_gates, given_values, installation, value_at
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.karpenter.controller_settings import parse_gates
from migrations_app.karpenter.hops import hops_from
from migrations_app.karpenter.releases import find

check = Check(
    __name__,
    title="The feature gate StaticCapacity is on where a NodePool needs it",
    phase="resources",
    severity="warning",
    why=(
        "While the feature gate StaticCapacity is off a NodePool with spec.replicas has no node, and the scheduler "
        "does not use it."
    ),
    how=(
        "Reads spec.replicas of each NodePool, FEATURE_GATES, --feature-gates, the Helm values and the default of "
        "the target version."
    ),
    reads=("nodepools", "controller"),
    says=("{count} NodePool with spec.replicas is ignored", "{count} NodePools with spec.replicas are ignored"),
    hops=hops_from("1.8"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/reference/settings.md",),
    remedy_tools=CHART_TOOLS,
)
REPLICAS = "spec.replicas"
GATE, VALUE = "StaticCapacity", "settings.featureGates.staticCapacity"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    malformed, pools = split_malformed(pools, {REPLICAS: WHOLE})
    yield from malformed
    fixed = [pool for pool in pools if pool.get(REPLICAS) is not None]
    if not fixed:
        yield NotApplicable("no NodePool sets spec.replicas")
    controller, row = installation(case.inventory), find(case.hop.release)
    default = bool(row and row.gate_default(GATE))
    gate_setting = given_gates(controller) if controller else None
    if fixed and gate_setting is not None and not gate_setting.text:
        yield Unknown(f"{gate_setting.path} is empty or taken from an object that is not read")
    elif not parse_gates(gate_setting.text if gate_setting else "").get(GATE, _gate_in_values(case) or default):
        for pool in fixed:
            yield at_field(
                pool, REPLICAS, seen=f"{pool.get(REPLICAS)}, {GATE} off", wanted=f"{GATE}=true, or no replicas"
            )


def _gate_in_values(case: CheckContext) -> bool:
    """Whether the Helm values turn the gate on for the target version's chart, while the running version does not know
    the gate."""
    values, row = given_values(case.inventory), find(case.running.release) if case.running.release else None
    gate_is_known = row is None or row.gate_default(GATE) is not None
    return not gate_is_known and values is not None and value_at(values.tree, VALUE) in (True, "true")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from chart_values(case, {VALUE: "true"}, about="opens the gate for all pools")
