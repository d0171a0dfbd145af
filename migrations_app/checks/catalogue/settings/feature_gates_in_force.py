"""Fails for each feature gate whose effective value differs from the one configured, or changes with the upgrade."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_controller, at_value
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts import controller
from migrations_app.inventory.facts.controller import ABSENT, GivenGates, Installation, given_gates, installation
from migrations_app.karpenter.releases import changed_gates, find, first_known
from migrations_app.karpenter.table_types import MinorRelease

check = Check(
    __name__,
    title="Every feature gate has its intended value",
    phase="controller",
    severity="warning",
    why="On 0.33 to 0.37 FEATURE_GATES without Drift turns drift off; a changed default takes effect at once.",
    how="Compares FEATURE_GATES or --feature-gates with the Helm values and with the defaults of both releases.",
    reads=("controller",),
    says=("{count} feature gate has an unintended value", "{count} feature gates have unintended values"),
    sources=(
        "kubernetes-sigs/karpenter@v0.37.7:pkg/operator/options/options.go",
        "kubernetes-sigs/karpenter@v1.14.1:pkg/operator/options/options.go",
    ),
    remedy_tools=CHART_TOOLS,
)
CHOICE = "settings.featureGates: each gate as it is meant; with drift true nodes begin to drift at once"
BRANCH, UNREADABLE = "settings.featureGates", "the controller cannot read it and does not start"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, row = installation(case.inventory), find(case.running.release) if case.running.release else None
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif row is None:
        yield Unknown(f"the gates of the running release are not known: {case.running.how}")
    else:
        if (gates := given_gates(controller)) is not None and not gates.text:
            yield Unknown(f"{gates.path} is empty or taken from an object that is not read")
        elif gates is not None:
            yield from _gates(case, controller, gates=gates, row=row)
        yield from _changed_defaults(case, controller, row=row)


def _gates(case: CheckContext, found: Installation, *, gates: GivenGates, row: MinorRelease) -> Iterator[JudgeResult]:
    for part in gates.malformed:
        yield at_controller(found, gates.path, seen=f"{part}: {UNREADABLE}", wanted="a gate, = and true or false")
    gates_set, coming = controller.parsed_gates(found), find(case.hop.release)
    if row.drift == "on_by_default" and "Drift" not in gates_set:
        off = f"{gates.text}: without Drift it is off"
        yield at_controller(found, gates.path, seen=off, wanted="Drift=true or false")
    for name in gates_set:
        if row.gate_default(name) is None and coming is not None and coming.gate_default(name) is not None:
            seen = f"{name}: {row.minor} has no such gate"
            yield at_controller(found, gates.path, seen=seen, wanted=f"{name} from {first_known(name)} on")


def _changed_defaults(case: CheckContext, found: Installation, *, row: MinorRelease) -> Iterator[JudgeResult]:
    """Gates that the values do not set and whose default changes. The chart writes every gate, so only values count."""
    values, gates_set = controller.given_values(case.inventory), controller.parsed_gates(found)
    for gate, before, after in changed_gates(row, coming) if (coming := find(case.hop.release)) else ():
        keys = (f"{BRANCH}.{gate.value}", f"{BRANCH}.{gate.value}Enabled")
        if values is None and gates_set.get(gate.name, before) == before:
            yield Unknown(f"whether {gate.name} was chosen is not known without Helm values: {after} after the upgrade")
        elif values is not None and all(controller.value_at(values.tree, key) is ABSENT for key in keys):
            seen = f"absent: {before} on {row.minor}, {after} on {case.hop.release.minor}".lower()
            flipped = at_value(values, keys[0], seen=seen, wanted="true or false, as it is meant")
            yield flipped.with_data(gate=gate.value, value=str(before).lower())


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values = {f"{BRANCH}.{row.value('gate')}": row.value("value") for row in evidence if row.data}
    if values:
        yield from chart_values(case, values, about="as it is today")
    if len(values) < len(evidence):
        yield from chart_values(case, {}, about=CHOICE, when="person")
