"""Details of converted objects: what each was computed from, and which fields of the replaced object it removes."""

from collections.abc import Mapping

from msgspec.structs import replace

from migrations_app.actions.base import Unavailable
from migrations_app.actions.conditions import content_digest
from migrations_app.actions.patches import between
from migrations_app.actions.plan import EarlierResult, SourceObject, Step
from migrations_app.actions.targets.pools import CLASSES, POOLS, Successor, class_of, name_of, object_of, target_of
from migrations_app.inventory.facts.node_classes import convertible
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap


def sources_of(inventory: Inventory, successor: Successor) -> tuple[SourceObject, ...]:
    """What the object was computed from: its pool or class, and the class or pools whose settings go into it."""
    own = dict(successor.item.source)
    own_class = _class_named(own)
    of_kinds = next(pair for pair in zip(POOLS, CLASSES, strict=True) if own["kind"] in pair)
    others = [tree for tree in convertible(inventory) if tree["kind"] in of_kinds and tree != own]
    return tuple(
        _source(inventory, tree) for tree in (own, *(other for other in others if _class_named(other) == own_class))
    )


def linked(step: Step, sources: tuple[SourceObject, ...], *, written: Mapping[tuple[str, str], Step]) -> Step:
    """The step with the objects that it was computed from. One that an earlier step writes, by kind and name, was
    compared by that step: it has to be as that one left it.
    """
    places = [(source.target.kind, source.target.name) for source in sources]
    changes = [(one, one.change) for place in places if (one := written.get(place))]
    return replace(
        step,
        computed_from=tuple(source for source, place in zip(sources, places, strict=True) if place not in written),
        earlier=tuple(
            EarlierResult(target=change.target, conditions=one.postconditions) for one, change in changes if change
        ),
    )


def source_of(inventory: Inventory, pool: NodePool) -> SourceObject:
    """The NodePool as read, for a step that rests on its content."""
    named = (kinds.NODE_POOL.kind, pool.name)
    return _source(inventory, next(tree for tree in convertible(inventory) if (tree["kind"], name_of(tree)) == named))


def _class_named(tree: JsonMap) -> str:
    """The class that the object is or uses; for a pool without a class, a text that no other object has."""
    return name_of(tree) if tree["kind"] in CLASSES else class_of(tree) or f"none, {tree['kind']} {name_of(tree)}"


def _source(inventory: Inventory, tree: JsonMap) -> SourceObject:
    row = kinds.find(tree["kind"], group=str(tree["apiVersion"]).partition("/")[0])
    read = object_of(inventory, tree["kind"], name=name_of(tree))
    if row is None or read is None:
        raise Unavailable(f"{tree['kind']} {name_of(tree)} could not be read again", code="not_seen")
    version = str(tree["apiVersion"]).rpartition("/")[2]
    return SourceObject(target=target_of(row, read, version=version), digest=content_digest(tree))


def fields_gone(successor: Successor) -> JsonMap:
    """The patch that removes the fields which an object loses when it is only cleaned; empty for other objects."""
    if not successor.own or successor.item.generation != "v1":
        return {}
    before = {"metadata": successor.item.source["metadata"], "spec": successor.item.source["spec"]}
    after = {"metadata": successor.body["metadata"], "spec": successor.body["spec"]}
    return _only_removed(between(before, after))


def _only_removed(patch: JsonMap) -> JsonMap:
    inner = {key: _only_removed(value) if isinstance(value, dict) else value for key, value in patch.items()}
    return {key: value for key, value in inner.items() if value is None or (isinstance(value, dict) and value)}
