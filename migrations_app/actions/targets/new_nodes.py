"""How the nodes that NodePools launch may differ from the nodes of Provisioners, as text for a preview."""

from collections import defaultdict
from collections.abc import Collection

from migrations_app.actions.targets.nodes import ALPHA, NodeRemoval, name_list
from migrations_app.actions.targets.pools import living_pools
from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.objects import KnownNames
from migrations_app.inventory.facts.node_classes import convertible
from migrations_app.inventory.facts.node_pools import lost_defaults
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds

CHECK = "pools_replace_provisioners_alike"
"""The check that fails for the same reason."""
_ALPHA_KINDS = frozenset(kind.kind for kind in kinds.ALPHA_KINDS)


def differences(inventory: Inventory, removals: Collection[NodeRemoval]) -> tuple[str, ...]:
    """What NodePools do not keep of Provisioners, if one of these nodes belongs to a Provisioner: then NodePools launch
    what replaces it. One text for all NodePools that differ in the same way."""
    if not any(node_removal.owned.owner == ALPHA for node_removal in removals):
        return ()
    pools_by_text: dict[str, list[str]] = defaultdict(list)
    for pool, words in _by_pool(inventory).items():
        pools_by_text[words].append(pool)
    return tuple(
        f"new nodes of NodePool{'' if len(pools) == 1 else 's'} {name_list(pools)} may differ from the old ones: "
        f"{words} (check {CHECK})"
        for words, pools in pools_by_text.items()
    )


def _by_pool(inventory: Inventory) -> dict[str, str]:
    """How each NodePool differs, as text; without those that do not."""
    words: dict[str, list[str]] = defaultdict(list)
    keys: dict[str, list[str]] = defaultdict(list)
    for lost in lost_defaults(living_pools(inventory), _converted_provisioners(inventory)):
        if lost.key:
            keys[lost.pool.name].append(lost.key)
        else:
            words[lost.pool.name].append(f"{lost.path} is {lost.seen}, not {lost.wanted}")
    by_key = {pool: [f"no requirement on {', '.join(pool_keys)}"] for pool, pool_keys in keys.items()}
    return {pool: "; ".join((*by_key.get(pool, ()), *words.get(pool, ()))) for pool in by_key | words}


def _converted_provisioners(inventory: Inventory) -> tuple[Item, ...]:
    trees = [tree for tree in convertible(inventory) if tree["kind"] in _ALPHA_KINDS]
    return convert(trees, known_names=KnownNames(all_pools_given=True)).items
