"""Fails for each protected pod on a NodePool with terminationGracePeriod, and each pod with a longer grace period."""

from collections import defaultdict
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.shared.replaced_nodes import NODES_PARTLY_KNOWN, groups_on_nodes, protection
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.quantities import NEVER, nanoseconds
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.facts.workloads import protected_for
from migrations_app.inventory.objects.karpenter import NodePool, PodGroup
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import CONVERTED, hops_from

check = Check(
    __name__,
    title="No NodePool ends protected pods by its grace period",
    phase="rollout",
    severity="info",
    why=(
        "When terminationGracePeriod of a NodePool is over, its pods are ended in spite of do-not-disrupt, "
        "PodDisruptionBudgets or a longer grace period of their own."
    ),
    reads=("nodepools", "pods", "nodes"),
    says=(
        "{count} pod is ended early by the grace period of its NodePool",
        "{count} pods are ended early by the grace period of their NodePool",
    ),
    how="Compares it with do-not-disrupt and terminationGracePeriodSeconds of the pods on the nodes of the NodePool.",
    hops=hops_from(CONVERTED),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)
PATH = "spec.template.spec.terminationGracePeriod"
FOREVER = 10**9  # seconds: any limit ends a protected pod; the pod stays only without a limit
ABOUT = "Where its owners do not agree; new nodes take it over, those that are there keep what they have"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not (limited := [pool for pool in own_pools(case.inventory) if pool.get(PATH) not in (None, NEVER)]):
        return (yield NotApplicable(f"no NodePool sets {PATH}"))
    nodes: dict[str, set[str]] = defaultdict(set)
    for node in case.ownership.nodes:
        nodes[node.pool].add(node.name)
    for pool in limited:
        yield from _endangered(case, pool, nodes=nodes[pool.name])


def _endangered(case: CheckContext, pool: NodePool, *, nodes: set[str]) -> Iterator[JudgeResult]:
    limit = pool.get(PATH)
    length = nanoseconds(limit) if isinstance(limit, str) else None
    if length is None:
        return (yield Unknown(f"NodePool {pool.name}: {PATH} cannot be read"))
    for one in groups_on_nodes(case, nodes, wanted=lambda pod: _seconds(case, pod) * 10**9 > length):
        grace, value = _seconds(case, one.group), protection(case, one.group)
        timed = "" if value == "true" else f" for {value}"
        seen = f"{labels.DO_NOT_DISRUPT}{timed}" if value else f"{grace} s of grace"
        seen += f", against {limit} of NodePool {pool.name}"
        yield one.evidence(path=PATH, seen=seen, wanted="longer, or agreed").with_data(pool=pool.name, grace=str(grace))
        yield from () if one.exact else (NODES_PARTLY_KNOWN,)


def _seconds(case: CheckContext, pods: PodGroup) -> int:
    """How long the pods may stay at most: their grace period comes after their protection."""
    timed = protected_for(value := protection(case, pods)) or 0
    return FOREVER if value == "true" else min(FOREVER, -(-timed // 10**9) + pods.grace_seconds)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    longest: dict[str, int] = defaultdict(int)
    for row in evidence:
        longest[row.value("pool")] = max(int(row.value("grace")), longest[row.value("pool")])
    patches = {name: merge_patch_of(PATH, f"{time}s" if time < FOREVER else None) for name, time in longest.items()}
    rows, task = [Evidence(kind="NodePool", name=name) for name in patches], f"raise {PATH}, or take it out"
    yield from change_remedies(case, rows, what=task, line=lambda row: patches[row.name](row), notes=(ABOUT,))
