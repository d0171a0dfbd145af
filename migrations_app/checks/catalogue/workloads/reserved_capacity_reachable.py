"""Where capacity reservations are used, no pod and no pool shuts them out by asking for on-demand alone."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, from_source, kept_by, kubectl, ordered
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.shell import word
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placed
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import hops_from

check = Check(
    __name__,
    title="Reserved capacity can be used by pods and pools",
    phase="workloads",
    severity="info",
    why="From 1.3 on reserved is a capacity type of its own: what asks for on-demand alone leaves reservations unused.",
    reads=(*POD_PARTS, "nodepools", "ec2nodeclasses"),
    says=("{count} pod or pool shuts reservations out", "{count} pods or pools shut reservations out"),
    how=(
        "capacityReservationSelectorTerms of node classes; where a class has some, selectors and requirements of "
        "karpenter.sh/capacity-type that list on-demand without reserved."
    ),
    hops=hops_from("1.3"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=OBJECT_TOOLS,
)
TERMS = "spec.capacityReservationSelectorTerms"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not any(one.get(TERMS) for one in case.inventory.ec2nodeclasses.items):
        yield NotApplicable(f"no EC2NodeClass sets {TERMS}")
        return
    for one in placed(case.inventory, {labels.CAPACITY_TYPE}):
        if _without(one.value.removeprefix("In ").split(" ")):
            yield Evidence(
                kind=one.kind,
                namespace=one.namespace,
                name=one.name,
                path=one.path,
                seen=f"{one.key} {one.value}",
                wanted=f"{labels.RESERVED} beside {labels.ON_DEMAND}",
                count=one.count,
            )
    for row in requirements(case.inventory):
        if row.key == labels.CAPACITY_TYPE and row.operator == "In" and _without(row.values):
            seen, wanted = " ".join(row.values), f"{labels.RESERVED} beside {labels.ON_DEMAND}"
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted=wanted)


def _without(values: list[str] | tuple[str, ...]) -> bool:
    return labels.ON_DEMAND in values and labels.RESERVED not in values


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    by = kept_by(case.inventory, evidence[0])
    source = from_source(by, f"list {evidence[0].wanted} in {labels.CAPACITY_TYPE}")
    yield from ordered(by, (*source, kubectl(*map(_line, evidence[:NAMES_SHOWN]))))


def _line(row: Evidence) -> str:
    home = f"-n {word(row.namespace)} " if row.namespace else ""
    resource = word(row.kind.lower() if row.namespace else f"{row.kind.lower()}s.karpenter.sh")
    return f"kubectl {home}edit {resource} {word(row.name)}  # {row.path}: {row.wanted}"
