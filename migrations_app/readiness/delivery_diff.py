"""What a person commits where the object that delivers Karpenter comes from a repository: a difference of lines."""

import copy
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from migrations_app.actions.targets.deliveries import Edits, changed_spec, values_in
from migrations_app.conversion.chart_values.trees import hidden
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.delivery_sources import (
    APPLICATION,
    ChartDelivery,
    ChartPlace,
    below,
    chart_deliveries,
    chart_place,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.manifests.writer import text_of
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document
from migrations_app.readiness.given_charts import shown_values
from migrations_app.readiness.report import Carrier

LINES_AROUND = 3


def carriers(inventory: Inventory) -> tuple[Carrier, ...]:
    """The objects of Flux and Argo CD that deliver Karpenter's charts to this cluster."""
    return tuple(
        _carrier(chart_delivery)
        for chart in (CHART, CRD_CHART)
        for chart_delivery in chart_deliveries(inventory, chart)
    )


def _carrier(delivery: ChartDelivery) -> Carrier:
    git_ops_delivery = delivery.delivery
    spec = (
        _shown_spec(git_ops_delivery.kind, git_ops_delivery.spec or {}, place=delivery.place) if delivery.place else {}
    )
    return Carrier(
        chart=delivery.chart,
        kind=git_ops_delivery.kind,
        namespace=git_ops_delivery.namespace,
        name=git_ops_delivery.name,
        elsewhere=delivery.elsewhere,
        spec=spec,
    )


def _shown_spec(kind: str, spec: Mapping[str, Any], *, place: ChartPlace) -> dict[str, Any]:
    """Version and values alone, without secrets."""
    chart_spec = copy.deepcopy(below(spec, place.at))
    if kind != APPLICATION:
        shown_spec: dict[str, Any] = {"chart": {"spec": chart_spec}}
        values = spec.get("values")
        return (
            shown_spec
            | ({"values": shown_values(values)} if isinstance(values, dict) else {})
            | _from(spec, "valuesFrom")
        )
    helm = chart_spec.get("helm")
    if isinstance(helm, dict):
        chart_spec["helm"] = _shown_helm(helm)
    return {"source": chart_spec} if place.at == ("source",) else {"sources": [chart_spec]}


def _from(tree: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: tree[name] for name in names if tree.get(name)}


def _shown_helm(helm: Mapping[str, Any]) -> dict[str, Any]:
    shown_helm = _from(helm, "valueFiles", "fileParameters")
    if isinstance(helm.get("valuesObject"), dict):
        shown_helm["valuesObject"] = shown_values(helm["valuesObject"])
    if isinstance(helm.get("values"), str):
        shown_helm["values"] = _shown_text(helm["values"])
    parameters = helm.get("parameters")
    rows = [row for row in parameters if isinstance(row, dict)] if isinstance(parameters, list) else []
    if rows:
        shown_helm["parameters"] = [_shown_row(row) for row in rows]
    return shown_helm


def _shown_row(row: Mapping[str, Any]) -> dict[str, Any]:
    leaf = str(row.get("name")).rpartition(".")[2]
    return {**row, "value": hidden({leaf: row.get("value")})[leaf]}


def _shown_text(text: str) -> str:
    try:
        tree = read_document(text.encode(), limits=MANIFESTS) if text.strip() else {}
    except InvalidInput:
        return ""
    return text_of(shown_values(tree)) if isinstance(tree, dict) and tree else ""


def values_of(carrier: Carrier) -> dict[str, Any]:
    """The values that the object gives, as far as they may be shown. Raises Unavailable if some come from elsewhere."""
    place = chart_place(carrier.kind, carrier.spec, chart=carrier.chart)
    return values_in(_read(carrier), place) if place else {}


def diff_to_commit(carrier: Carrier, *, version: str, edits: Edits) -> str:
    """The difference of the object's manifest, as `diff -u` writes it; empty if another object names the version."""
    place = chart_place(carrier.kind, carrier.spec, chart=carrier.chart)
    if place is None:
        return ""
    read = _read(carrier)
    after, _ = changed_spec(read, place, version=version, edits=edits)
    old, new = (text_of(tree).splitlines() for tree in (read, {**read, "spec": after}))
    return "\n".join(unified_diff(old, new, f"a/{carrier.said}", f"b/{carrier.said}", n=LINES_AROUND, lineterm=""))


def _read(carrier: Carrier) -> dict[str, Any]:
    return {
        "kind": carrier.kind,
        "metadata": {"name": carrier.name, "namespace": carrier.namespace},
        "spec": carrier.spec,
    }
