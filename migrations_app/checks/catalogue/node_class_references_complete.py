"""Every pool and claim names the group and kind of its node class."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import from_source, kubectl, merged, names, ordered
from migrations_app.checks.values import Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.managers import Managed, managed
from migrations_app.inventory.seen import Seen
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hop_spans import BETA_LEFT

check = Check(
    __name__,
    title="Every node class reference is complete",
    phase="resources",
    severity="blocker",
    why="From 1.1 on a reference without group or kind is invalid: its claims can be neither changed nor deleted.",
    reads=("nodepools", "nodeclaims"),
    says=("{count} node class reference is incomplete", "{count} node class references are incomplete"),
    hops=(BETA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6981",
    ),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    if not _read_as_v1(case):
        yield NotApplicable("pools and claims are not read as v1 yet; 1.0 fills the references in")
        return
    for pool in case.inventory.nodepools.items:
        path = "spec.template.spec.nodeClassRef"
        for field in ("group", "kind"):
            if not pool.get(f"{path}.{field}"):
                yield _evidence("NodePool", pool.name, path=f"{path}.{field}")
    for claim in case.inventory.nodeclaims.items:
        reference = claim.spec.node_class_ref
        for field, value in (("group", reference and reference.group), ("kind", reference and reference.kind)):
            if not value:
                yield _evidence("NodeClaim", claim.name, path=f"spec.nodeClassRef.{field}")


def _read_as_v1(case: Case) -> bool:
    parts = (case.inventory.nodepools, case.inventory.nodeclaims)
    served = [part.served for part in parts if isinstance(part, Seen) and part.items]
    return bool(served) and all(version == "karpenter.sh/v1" for version in served)


def _evidence(kind: str, name: str, *, path: str) -> Evidence:
    wanted = kinds.AWS_GROUP if path.endswith("group") else kinds.EC2_NODE_CLASS.kind
    return Evidence(kind=kind, name=name, path=path, seen="absent", wanted=wanted)


@check.advise
def advise(case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    pools = [row for row in evidence if row.kind == "NodePool"]
    claims = [row for row in evidence if row.kind == "NodeClaim"]
    patch = merged("spec.template.spec.nodeClassRef", {"group": kinds.AWS_GROUP, "kind": kinds.EC2_NODE_CLASS.kind})
    found = {pool.name: pool for pool in case.inventory.nodepools.items}
    by = managed(found[pools[0].name].metadata) if pools else Managed("hand")
    lines = [f"kubectl patch nodepools.karpenter.sh {name} --type=merge -p {patch}" for name in names(pools).split()]
    if claims:
        lines.append("# A claim's spec cannot be changed: replace these, a few at a time")
        lines.append(f"kubectl delete nodeclaims.karpenter.sh {names(claims)}")
    yield from ordered(by, (*(from_source(by, f"set {patch}") if pools else ()), kubectl(*lines)))
