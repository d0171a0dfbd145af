"""Fails for each kind of Karpenter's, nodes or pods that the API server does not list."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.conversion_webhook import who_converts
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.remedies.stored_versions import serve_again
from migrations_app.checks.shared.failed_lists import failed_lists, not_tried
from migrations_app.checks.shell import no_option
from migrations_app.errors import CONVERSION_FAILED, STORED_VERSION_GONE
from migrations_app.inventory.facts.conversion_webhook import conversion_repairs
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

LISTS: dict[str, Kind] = {
    "crds": kinds.CRD,
    "provisioners": kinds.PROVISIONER,
    "awsnodetemplates": kinds.AWS_NODE_TEMPLATE,
    "machines": kinds.MACHINE,
    "nodepools": kinds.NODE_POOL,
    "ec2nodeclasses": kinds.EC2_NODE_CLASS,
    "nodeclaims": kinds.NODE_CLAIM,
    "nodes": kinds.NODE,
    "pods": kinds.POD,
}
check = Check(
    __name__,
    title="The API server lists Karpenter's objects, nodes and pods",
    phase="preflight",
    severity="blocker",
    why="The controller reads the same lists: one that fails here fails there, and nobody can follow the upgrade.",
    how="Reads the lists of Karpenter's kinds, nodes and pods, in another served version if need be; errors are told.",
    reads=("discovery",),
    says=("Listing {name} fails", "Listing {count} kinds fails"),
    sources=(
        "kubernetes/kubernetes: CustomResourceDefinition versioning, webhook conversion",
        "kubernetes-sigs/karpenter#1886",
        "aws/karpenter-provider-aws#6818",
    ),
    resolved_by=("mend_conversion",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    parts = {name: case.inventory.part(name) for name in LISTS}
    for failed_list in failed_lists(parts):
        kind = LISTS[failed_list.part]
        row = Evidence(kind=kind.kind, name=_listed(kind), path="list", seen=failed_list.told, wanted="a list")
        yield row.with_data(why=failed_list.why)
    if unclear := ", ".join(f"{_listed(LISTS[name])} ({why})" for name, why in not_tried(parts).items()):
        yield Unknown(f"cannot tell whether these lists answer: {unclear}")


def _listed(kind: Kind) -> str:
    return kind.crd_name if kind.group else kind.plural


@check.fixable
def fixable(case: CheckContext, evidence: tuple[Evidence, ...]) -> bool:
    repairs = conversion_repairs(case.inventory, case.running.release)
    return any(name in repairs and repairs[name].strategy for name in _failed(evidence, CONVERSION_FAILED))


def _failed(evidence: tuple[Evidence, ...], why: str) -> list[str]:
    return [no_option(row.name) for row in evidence if row.value("why") == why]


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    lists = (read_command("kubectl", "get", no_option(row.name), "-A", "-o", "name") for row in evidence)
    yield in_cluster(group(*lists, notes=("What the server says of each list:",)))
    if gone := _failed(evidence, STORED_VERSION_GONE):
        yield serve_again(gone)
    if unconverted := _failed(evidence, CONVERSION_FAILED):
        yield who_converts(unconverted)
