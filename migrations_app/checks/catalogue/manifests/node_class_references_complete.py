"""Fails for each NodePool or NodeClaim whose node class reference lacks group or kind."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import in_cluster, merge_patch_word
from migrations_app.checks.remedies.karpenter_objects import change_remedies, delete_claims, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import REFERENCE, is_v1, own_claims, own_pools
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import BETA_LEFT

check = Check(
    __name__,
    title="Every node class reference is complete",
    phase="resources",
    severity="blocker",
    why=(
        "From 1.1 on a reference without group or kind is not valid: its NodeClaims can be neither changed nor deleted."
    ),
    how="Reads group and kind of the node class reference of every NodePool and NodeClaim.",
    reads=("nodepools", "nodeclaims"),
    says=("{count} node class reference is incomplete", "{count} node class references are incomplete"),
    hops=(BETA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6981",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not _read_as_v1(case):
        yield NotApplicable("pools and claims are not read as v1 yet; 1.0 fills the references in")
        return
    for pool in own_pools(case.inventory):
        for field in ("group", "kind"):
            path = f"{REFERENCE}.{field}"
            yield from _reference_result("NodePool", pool.name, path=path, value=pool.get(path))
    for claim in own_claims(case.inventory):
        reference = claim.spec.node_class_ref
        for field, value in (("group", reference and reference.group), ("kind", reference and reference.kind)):
            yield from _reference_result("NodeClaim", claim.name, path=f"spec.nodeClassRef.{field}", value=value)


def _read_as_v1(case: CheckContext) -> bool:
    parts = (case.inventory.nodepools, case.inventory.nodeclaims)
    return any(part.items for part in parts) and all(is_v1(part, item) for part in parts for item in part.items)


def _reference_result(kind: str, name: str, *, path: str, value: object) -> Iterator[JudgeResult]:
    """Evidence if the field is empty or contains a slash: a group is never an API version, and 1.1 refuses a slash."""
    wanted = kinds.AWS_GROUP if path.endswith("group") else kinds.EC2_NODE_CLASS.kind
    if not isinstance(value, str | None):
        yield Unknown(f"{kind} {name}: {path} is no text")
    elif not value or "/" in str(value):
        yield Evidence(kind=kind, name=name, path=path, seen=str(value or "absent"), wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    pools = [row for row in evidence if row.kind == "NodePool"]
    claims = [row for row in evidence if row.kind == "NodeClaim"]
    wanted = {"group": kinds.AWS_GROUP, "kind": kinds.EC2_NODE_CLASS.kind}
    if pools:
        what = f"set {merge_patch_word(REFERENCE, wanted)}"
        yield from change_remedies(case, pools, what=what, line=merge_patch_of(REFERENCE, wanted))
    if claims:
        yield in_cluster(delete_claims(claims, "A claim's spec cannot be changed: replace these, one after the other"))
