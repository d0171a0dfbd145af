"""Fails for each label or requirement of a NodePool with a key that the API refuses."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXTS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.metadata import OPERATORS, accepted
from migrations_app.inventory.facts.node_pools import REQUIREMENTS, own_pools, rows, strings
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="The API accepts every label and requirement key",
    phase="resources",
    severity="blocker",
    why="A NodePool with a key that Karpenter or Kubernetes reserves is refused, and launches nothing.",
    how=(
        "Compares the keys of template labels and requirements, and the operators, with those that the target "
        "version accepts."
    ),
    reads=("nodepools",),
    says=("{count} NodePool key is refused", "{count} NodePool keys are refused"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
LABELS = "spec.template.metadata.labels"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {LABELS: TEXTS, REQUIREMENTS: MAPS})
    yield from malformed
    for pool in pools:
        for key in strings(pool, LABELS):
            if not accepted(key, case.hop.release):
                yield at_field(pool, f"{LABELS}[{key}]", seen=key, wanted=_successor(key, case))
        yield from _requirements(pool, case)


def _requirements(pool: NodePool, case: CheckContext) -> Iterator[JudgeResult]:
    for place, row in rows(pool, REQUIREMENTS):
        key, operator, path = row.get("key"), row.get("operator"), f"{REQUIREMENTS}[{place}]"
        if not isinstance(key, str) or not key:
            yield Unknown(f"NodePool {pool.name}: {path}.key is no text")
        elif not accepted(key, case.hop.release):
            yield at_field(pool, f"{path}.key", seen=f"{key} {operator}", wanted=_successor(key, case))
        elif operator not in OPERATORS:
            yield Unknown(f"NodePool {pool.name}: {path}.operator {str(operator)[:20]} is not known")


def _successor(key: str, case: CheckContext) -> str:
    """The key that replaced this one, if a NodePool may use it."""
    successor = labels.replacement(key, kind="label")
    return successor if successor and accepted(successor, case.hop.release) else "absent"


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    notes = ("Without the key other nodes may be launched; nodes of the pool may drift",)
    yield from change_remedies(case, evidence, what=f"take {row.seen} out of {row.path}", line=edit_task, notes=notes)
