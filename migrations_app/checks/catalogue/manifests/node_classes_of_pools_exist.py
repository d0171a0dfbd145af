"""Fails for each NodePool that names an EC2NodeClass which does not exist, or something else by group or kind."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change
from migrations_app.checks.evidence import MAP, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts import node_pools as facts
from migrations_app.inventory.facts.node_pools import REFERENCE
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED, hops_from

check = Check(
    __name__,
    title="The node class of every NodePool exists",
    phase="resources",
    severity="warning",
    why="A NodePool without its node class launches nothing: drained nodes get no replacement there.",
    how=(
        "Looks the name in the node class reference of each NodePool up among the EC2NodeClasses; from 1.0 on group "
        "and kind count as well, which v1beta1 did not look at."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=(
        "{count} NodePool names a node class that does not exist",
        "{count} NodePools name node classes that do not exist",
    ),
    hops=hops_from(ALPHA_LEFT),
    severity_at={CONVERTED: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/cloudprovider/cloudprovider.go",
        "aws/karpenter-provider-aws@v1.14.1:pkg/cloudprovider/cloudprovider.go",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/nodepool/readiness/controller.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
FIELDS = ("group", "apiVersion", "kind", "name")
SHAPES = {f"{REFERENCE}.{field}": TEXT for field in FIELDS}
WANTED = "the name of an EC2NodeClass that is there"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = facts.own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    shapeless, pools = split_malformed(pools, {REFERENCE: MAP})
    malformed, pools = split_malformed(pools, SHAPES)
    yield from (*shapeless, *malformed)
    names = _class_names(case.inventory)
    for pool in (pool for pool in pools if not facts.of_other_provider(pool)):
        if facts.class_name(pool) not in names:
            yield at_field(pool, f"{REFERENCE}.name", seen=facts.class_name(pool) or "absent", wanted=WANTED)
        elif case.hop.name != ALPHA_LEFT:
            for field, seen, wanted in facts.wrong_class_fields(pool):
                yield at_field(pool, f"{REFERENCE}.{field}", seen=seen, wanted=wanted)


def _class_names(inventory: Inventory) -> frozenset[str]:
    """The names of all classes, including those that could not be parsed, because they exist."""
    part = inventory.ec2nodeclasses
    aside = part.quarantined if isinstance(part, Seen) else ()
    return frozenset(ec2_node_class.name for ec2_node_class in part.items) | {unparsable.name for unparsable in aside}


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ["A change of the reference is drift: the pool's nodes are replaced as its budgets allow"]
    if any(row.path == f"{REFERENCE}.name" for row in evidence):
        notes.insert(0, "Either make the node class again, or name one that is there, or delete the pool if not needed")
    what = f"name a node class that is there in {REFERENCE}"
    yield from change_remedies(case, evidence, what=what, line=_step, notes=notes)


def _step(row: Evidence) -> Change:
    return edit_task(row) if row.path == f"{REFERENCE}.name" else merge_patch_of(row.path, row.wanted)(row)
