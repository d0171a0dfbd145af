"""The object of Flux or Argo CD that delivers a chart of Karpenter: its version, its values, and the patch of both.

Only an object that is its own source is changed. What a repository, another controller or a tool writes is changed
there, because a direct change would be reverted (A38).
"""

import copy
import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.actions.patches import between
from migrations_app.actions.targets.pools import target_of
from migrations_app.conversion.chart_values.trees import hidden, laid
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.delivery_sources import (
    APPLICATION,
    HELM_RELEASE,
    KUSTOMIZATION,
    ChartDelivery,
    ChartPlace,
    below,
    chart_deliveries,
    syncs_by_itself,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_undo
from migrations_app.manifests.writer import text_of
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document

ROWS = {
    HELM_RELEASE: kinds.FLUX_HELM_RELEASE,
    KUSTOMIZATION: kinds.FLUX_KUSTOMIZATION,
    APPLICATION: kinds.ARGO_APPLICATION,
}
Edits = tuple[tuple[str, str], ...]
"""Dotted keys of values with the new value as JSON; empty: the key is removed."""
WRITERS = ("kustomize-controller", "argocd-", "helm", "terraform", "hashicorp", "opentofu", "eksctl")
"""Prefixes, in lower case, of the field managers that would write their own version again."""
PEOPLE = ("argocd-server",)
"""Managers with one of these prefixes that only write what a person did."""
_TYPED = re.compile(r"true|false|0|-?[1-9]\d{0,17}")
"""Parameters of Argo CD that are not text, unless the parameter forces text."""


def delivery_target(delivery: GitOpsDelivery) -> ObjectTarget:
    """The object by uid, in the version in which it was read."""
    return target_of(ROWS[delivery.kind], delivery, version=delivery.api_version.rpartition("/")[2])


def the_delivery(inventory: Inventory, chart: str) -> ChartDelivery:
    """The one object that delivers the chart and may be changed. Raises Unavailable with the reason."""
    deliveries = chart_deliveries(inventory, chart)
    if not deliveries:
        words = f"no HelmRelease of Flux and no Application of Argo CD delivers the chart {chart} to this cluster"
        raise Unavailable(words, code="no_delivery")
    if len(deliveries) > 1:
        names = ", ".join(sorted(delivery.display_name for delivery in deliveries))
        raise Unavailable(f"{len(deliveries)} objects deliver the chart {chart}: {names}", code="two_deliveries")
    (delivery,) = deliveries
    if delivery.elsewhere:
        _refuse_kept(delivery.display_name, delivery.elsewhere)
    if delivery.delivery.kind == HELM_RELEASE and not syncs_by_itself(delivery.delivery):
        raise Unavailable(
            f"{delivery.display_name} is suspended and would apply nothing: resume it first", code="suspended"
        )
    return delivery


def place_of(delivery: ChartDelivery) -> ChartPlace:
    """The place in the object that names the version. Raises Unavailable if another object names it."""
    if delivery.place is None:
        _refuse_kept(delivery.display_name, delivery.elsewhere)
    return delivery.place


def _refuse_kept(delivery_name: str, writer: str) -> NoReturn:
    raise Unavailable(f"the source of {delivery_name} is {writer}: change it there", code="kept")


def refuse_written(delivery: ChartDelivery, read: JsonMap) -> None:
    """Raises Unavailable if `managedFields` say that a tool wrote the version into the object."""
    place = place_of(delivery)
    written = value_at(read, ("metadata", "managedFields"))
    for entry in written if isinstance(written, list) else ():
        name = str(entry.get("manager") or "").lower()
        tool = name.startswith(WRITERS) and not name.startswith(PEOPLE)
        if tool and _owns(entry.get("fieldsV1"), ("spec", *place.at, place.version)):
            _refuse_kept(delivery.display_name, f"what the field manager {entry.get('manager')} applies")


def _owns(fields: Any, path: tuple[str, ...]) -> bool:  # noqa: ANN401 - plain JSON
    node = fields
    for name in path:
        node = node.get(f"f:{name}") if isinstance(node, dict) else None
        if node is None:
            return False
        if node == {}:
            return True
    return True


def values_in(read: JsonMap, place: ChartPlace) -> dict[str, Any]:
    """The values that the object itself gives to the chart. Raises Unavailable if it takes some from elsewhere."""
    spec = read.get("spec") or {}
    if read.get("kind") == HELM_RELEASE:
        if spec.get("valuesFrom") or below(spec, ("chart", "spec", "valuesFiles")):
            _refuse_values(read)
        return _checked_map(read, spec.get("values"))
    helm = _checked_map(read, below(spec, (*place.at, "helm")))
    if any(helm.get(name) for name in ("valueFiles", "fileParameters")):
        _refuse_values(read)
    return laid(_own_values(read, helm), _edits_of_parameters(read, helm))


def _checked_map(read: JsonMap, value: Any) -> dict[str, Any]:  # noqa: ANN401 - plain JSON
    """The value, which has to be a map; empty for None. Raises Unavailable for anything else."""
    if value is not None and not isinstance(value, dict):
        _refuse_values(read)
    return value or {}


def _refuse_values(read: JsonMap) -> NoReturn:
    name = f"{read.get('kind')} {value_at(read, ('metadata', 'name'))}"
    raise Unavailable(f"{name} takes values from other objects or files: change them there", code="values_elsewhere")


def _own_values(read: JsonMap, helm: JsonMap) -> dict[str, Any]:
    """The values without parameters: `valuesObject` wins over `values`, as in Argo CD."""
    if helm.get("valuesObject"):
        return _checked_map(read, helm["valuesObject"])
    text = str(helm.get("values") or "")
    document = read_document(text.encode(), limits=MANIFESTS) if text.strip() else None
    return _checked_map(read, document)


def _edits_of_parameters(read: JsonMap, helm: JsonMap) -> Edits:
    """The parameters, which win over values. Raises Unavailable for a parameter that sets a part of a list."""
    rows = _parameters(helm)
    if any("[" in str(row.get("name")) or "{" in str(row.get("value")) for row in rows):
        _refuse_values(read)
    return tuple((str(row.get("name")), _json(row)) for row in rows)


def _parameters(helm: JsonMap) -> list[JsonMap]:
    parameters = helm.get("parameters")
    return [row for row in parameters if isinstance(row, dict)] if isinstance(parameters, list) else []


def _json(row: JsonMap) -> str:
    text = str(row.get("value") or "")
    return text if not row.get("forceString") and _TYPED.fullmatch(text) else json.dumps(text)


def upgrade_patch(read: JsonMap, place: ChartPlace, *, version: str, edits: Edits) -> JsonMap:
    """The merge patch that sets version and values. Raises InvalidInput `secret_value` if the plan would have to
    contain a value that looks like a secret.
    """
    before = read.get("spec") or {}
    after, trees = changed_spec(read, place, version=version, edits=edits)
    patch = between(before, after)
    bodies = (patch, merge_patch_undo(patch, before), *trees)
    if any(hidden(body) != body for body in bodies):
        words = "the plan would contain a value that looks like a secret: change it yourself first"
        raise InvalidInput(words, code="secret_value")
    return {"spec": patch}


def changed_spec(
    read: JsonMap, place: ChartPlace, *, version: str, edits: Edits
) -> tuple[JsonMap, tuple[JsonMap, ...]]:
    """The spec with the new version and values, and the values that it holds as text, before and after."""
    after = copy.deepcopy(read.get("spec") or {})
    source = below(after, place.at)
    source[place.version] = version
    trees = _changed_values(read, after, place=place, edits=edits) if edits else ()
    return without_null(after), trees


def without_null(tree: Any) -> Any:  # noqa: ANN401 - plain JSON
    """The tree without the fields of maps that are null, since the API server does not store removed fields."""
    if isinstance(tree, dict):
        return {key: without_null(value) for key, value in tree.items() if value is not None}
    return [without_null(item) for item in tree] if isinstance(tree, list) else tree


def _changed_values(read: JsonMap, after: JsonMap, *, place: ChartPlace, edits: Edits) -> tuple[JsonMap, ...]:
    """Changes the values of the spec `after` in place. Returns the values that the patch holds as text."""
    if read.get("kind") == HELM_RELEASE:
        after["values"] = laid(_checked_map(read, after.get("values")), edits, prune=True)
        return ()
    source = below(after, place.at)
    helm = source["helm"] = _checked_map(read, source.get("helm"))
    values_before = _own_values(read, helm)
    values_after = laid(values_before, edits, prune=True)
    if rows := _parameters(helm):
        parameters = [row for row in rows if not _is_edited(str(row.get("name")), edits)]
        helm["parameters"] = parameters or None
    if helm.get("valuesObject"):
        helm["valuesObject"] = values_after
        return ()
    helm["values"] = text_of(values_after) if values_after else None
    return values_before, values_after


def _is_edited(name: str, edits: Iterable[tuple[str, str]]) -> bool:
    return any(name == key or name.startswith(f"{key}.") for key, _ in edits)


def sync_once(read: JsonMap) -> JsonMap:
    """The operation that makes Argo CD sync once an Application that does not sync by itself; it deletes nothing."""
    options = value_at(read, ("spec", "syncPolicy", "syncOptions"))
    sync: JsonMap = {"prune": False} | ({"syncOptions": options} if isinstance(options, list) and options else {})
    return {"operation": {"initiatedBy": {"username": "karpdash"}, "sync": sync}}
