"""The API server answers every list of Karpenter's objects, of nodes and of pods."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import word
from migrations_app.errors import CONVERSION_FAILED
from migrations_app.inventory.parts import Seen, Unseen
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
OURS = ("forbidden", "unauthorized", "not_asked", "too_large", "scan_too_large")
"""Reasons that lie with the scan, its rights and its limits: whether the server would answer is not known."""

check = Check(
    __name__,
    title="Every list of Karpenter's objects, nodes and pods answers",
    phase="preflight",
    severity="blocker",
    why="The controller reads the same lists: what fails for a scan fails for it, and a hop cannot be watched.",
    how="The lists of Karpenter's kinds, nodes and pods are read; an error is told apart from an empty list.",
    reads=("discovery",),
    says=("{count} list fails", "{count} lists fail"),
    sources=(
        "kubernetes/kubernetes: CustomResourceDefinition versioning, webhook conversion",
        "aws/karpenter-provider-aws#6818",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    parts = {name: case.inventory.part(name) for name in LISTS}
    unseen = {name: part for name, part in parts.items() if isinstance(part, Unseen)}
    for name, part in unseen.items():
        if part.why not in OURS:
            told = f"{part.why}: {part.detail}" if part.detail else part.why
            found = Evidence(kind=LISTS[name].kind, name=_listed(name), path="list", seen=told, wanted="a list")
            yield found.with_data(why=part.why)
    for name, seen in parts.items():
        if isinstance(seen, Seen) and seen.instead_of:
            told = f"{CONVERSION_FAILED} to {seen.instead_of}; read in {seen.served}"
            found = Evidence(kind=LISTS[name].kind, name=_listed(name), path="list", seen=told, wanted="a list")
            yield found.with_data(why=CONVERSION_FAILED)
    not_tried = [f"{name} ({part.why})" for name, part in unseen.items() if part.why in OURS]
    if not_tried:
        yield Unknown(f"whether these lists answer is not known: {', '.join(not_tried)}")


def _listed(name: str) -> str:
    kind = LISTS[name]
    return kind.crd_name if kind.group else kind.plural


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield kubectl(
        "# What the server says of each list:", *(f"kubectl get {word(row.name)} -A -o name" for row in evidence)
    )
    unconverted = [row.name for row in evidence if row.value("why") == CONVERSION_FAILED]
    if unconverted:
        yield kubectl(
            "# A conversion webhook does not answer; where the CRDs send their conversions, and who listens there:",
            *(f"kubectl get crd {word(name)} -o jsonpath='{{.spec.conversion}}'" for name in unconverted),
            "kubectl get services,endpoints -A -l app.kubernetes.io/name=karpenter",
        )
