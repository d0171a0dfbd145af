"""No workload and no pool asks for a label that Karpenter does not set on nodes any more."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, from_source, kept_by, kubectl, ordered
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.shell import word
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placed
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No workload or pool asks for a label that is gone",
    phase="workloads",
    severity="warning",
    why="New nodes do not carry the label: what asks for it matches none of them and stays pending.",
    reads=(*POD_PARTS, "nodepools", "provisioners"),
    says=("{count} pod or pool asks for a label that is gone", "{count} pods or pools ask for a label that is gone"),
    how=(
        "Selectors, affinities, spread keys and requirements that name a label of the table whose last release is "
        "older than the one the hop lands on; karpenter.sh/provisioner-name is asked about apart."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    own = {labels.PROVISIONER_NAME}
    gone = {row.key for row in labels.KEYS if row.kind == "label" and row.retired_in(case.step.release)} - own
    for one in placed(case.inventory, gone):
        if not one.value.startswith("DoesNotExist"):
            yield Evidence(
                kind=one.kind,
                namespace=one.namespace,
                name=one.name,
                path=one.path,
                seen=f"{one.key} {one.value}".rstrip(),
                wanted=labels.replacement(one.key, kind="label") or "a label that nodes have",
                count=one.count,
            )
    for row in requirements(case.inventory):
        if row.key in gone:
            seen = " ".join((row.key, row.operator, *row.values))
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted="without it")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    by = kept_by(case.inventory, evidence[0])
    source = from_source(by, "ask for instance family, size or CPU in its place")
    yield from ordered(by, (*source, kubectl(*map(_line, evidence[:NAMES_SHOWN]))))


def _line(row: Evidence) -> str:
    home = f"-n {word(row.namespace)} " if row.namespace else ""
    resource = word(row.kind.lower() if row.namespace else f"{row.kind.lower()}s.karpenter.sh")
    return (
        f"kubectl {home}edit {resource} {word(row.name)}  # {row.path}: instance family, size or CPU in the place of it"
    )
