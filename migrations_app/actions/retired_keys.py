"""Who names retired keys: the workloads, pods and NodePools that a renaming has to do with."""

from collections.abc import Iterator

from migrations_app.actions import pools, workloads
from migrations_app.actions.base import Parameters, Scene, Unavailable
from migrations_app.actions.changes import Target
from migrations_app.actions.templates import OLD, OLD_MARKS, Renaming
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.mentions import Mention, marked, placed
from migrations_app.inventory.objects import PodGroup
from migrations_app.karpenter import labels


def templates(inventory: Inventory, parameters: Parameters) -> tuple[Target, ...]:
    """The workloads that name an old key, but for the controller, whose chart writes its own rules anew."""
    own = {(one.namespace, one.name) for one in inventory.controller.items}
    found = [*(marked(inventory, OLD_MARKS) if asks(parameters, "marks") else ())]
    found += placed(inventory, {OLD}) if asks(parameters, "placement") else ()
    named = (one for one in found if _in(parameters, one.namespace) and (one.namespace, one.name) not in own)
    return tuple(dict.fromkeys(target for one in named if (target := _target(inventory, one)) is not None))


def _target(inventory: Inventory, one: Mention) -> Target | None:
    return workloads.target_of(inventory, kind=one.kind, namespace=one.namespace, name=one.name)


def marked_groups(inventory: Inventory, parameters: Parameters) -> Iterator[PodGroup]:
    """The pods that carry an old mark without the new one."""
    for group in inventory.pods.items if asks(parameters, "marks") else ():
        alone = set(OLD_MARKS) & set(group.markers) and labels.DO_NOT_DISRUPT not in group.markers
        if alone and _in(parameters, group.namespace):
            yield group


def asks(parameters: Parameters, name: str) -> bool:
    """Whether that is to be renamed; yes, unless it was declined."""
    return parameters.get(name, True) is not False


def _in(parameters: Parameters, namespace: str) -> bool:
    wanted = pools.names_given(parameters, "namespaces")
    return not wanted or namespace in wanted


def renaming(scene: Scene, parameters: Parameters) -> Renaming:
    """What the running release asks for, with the NodePools of this cluster."""
    running, there = scene.running.release, {pool.name for pool in pools.living_pools(scene.inventory)}
    gone = {key for key in (*OLD_MARKS, OLD) if running is not None and labels.retired(key, running)}
    instead = parameters.get("pool") or ""

    def pool_of(name: str) -> str:
        found = name if name in there else instead
        if found not in there:
            raise Unavailable(f"there is no NodePool {found or name}: convert the Provisioners first", code="no_pool")
        return str(found)

    return Renaming(pool_of, gone)
