"""What a rehearsal says of consolidation by prices, which it does not play: how much higher the peak may be."""

from migrations_app.simulator.karpenter.disruption import UNDERUTILIZED, share_of
from migrations_app.simulator.karpenter.underused import UNDERUTILIZED_POLICIES
from migrations_app.use_cases.rehearsals.reading import ClusterReading, Document
from migrations_app.use_cases.rehearsals.result import UnknownPart

CODE = "consolidation_unplayed"
DEFAULT_BUDGET = {"nodes": "10%"}


def unplayed_consolidation(reading: ClusterReading, *, at_once: int) -> UnknownPart | None:
    """What is not known where pools also replace nodes that are used too little; None where none does.

    Played is that such a node goes alone while its pods have room on others. With prices Karpenter also replaces one,
    or several together, by a cheaper node, and it first tries to delete several together. A replacement is launched
    before its node goes, and each counts against the pool's budgets while it is under way, so the budgets bound how
    many more nodes there may be. Sources: kubernetes-sigs/karpenter:pkg/controllers/disruption: controller.go (drift
    before consolidation), consolidation.go (at most one replacement for each command), helpers.go
    (BuildDisruptionBudgetMapping). `at_once` is how many nodes are disrupted at once without budgets.
    """
    pools = [one for one in reading.of("NodePool") if _consolidates(one)]
    old = [one for one in reading.of("Provisioner") if (one["spec"].get("consolidation") or {}).get("enabled")]
    if not pools and not old:
        return None
    names = sorted(f"{one['kind']} {one['metadata']['name']}" for one in (*pools, *old))
    more = min(at_once, sum(_most(pool, reading) for pool in pools) + len(old))
    if not more:
        return None
    told = ", ".join(names[:5]) + (" and more" if len(names) > 5 else "")
    nodes = "1 more node" if more == 1 else f"{more} more nodes"
    words = (
        f"{told}: prices are not known. Here nodes that are used too little only go one by one, while their pods have "
        f"room on others; Karpenter also replaces nodes by cheaper ones, and takes several at once. At the peak there "
        f"may be up to {nodes}, at the end fewer, and more pods move"
    )
    return UnknownPart(code=CODE, words=words)


def _consolidates(pool: Document) -> bool:
    found = pool["spec"].get("disruption") or {}
    return (
        found.get("consolidationPolicy", UNDERUTILIZED_POLICIES[0]) in UNDERUTILIZED_POLICIES
        and found.get("consolidateAfter") != "Never"
    )


def _most(pool: Document, reading: ClusterReading) -> int:
    """How many nodes of the pool its budgets let be consolidated at once. Those with a schedule bind only at times.

    A share is of all nodes of Karpenter: a rollout may bring any of them into this pool.
    """
    size = len(reading.of("NodeClaim")) + len(reading.of("Machine"))
    every = (pool["spec"].get("disruption") or {}).get("budgets") or [DEFAULT_BUDGET]
    bound = [
        one for one in every if not one.get("schedule") and UNDERUTILIZED in (one.get("reasons") or (UNDERUTILIZED,))
    ]
    return min([size, *(share_of(str(one.get("nodes", "10%")), size) for one in bound)])
