"""Computes the diff that a person commits where a Git repository holds the Flux or Argo CD object of Karpenter."""

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
    """Returns version and values of the chart alone, without secrets."""
    chart_spec = copy.deepcopy(below(spec, place.at))
    if kind != APPLICATION:
        shown_spec: dict[str, Any] = {"chart": {"spec": chart_spec}}
        values = spec.get("values")
        return (
            shown_spec
            | ({"values": shown_values(values)} if isinstance(values, dict) else {})
            | _fields(spec, "valuesFrom")
        )
    helm = chart_spec.get("helm")
    if isinstance(helm, dict):
        chart_spec["helm"] = _shown_helm(helm)
    return {"source": chart_spec} if place.at == ("source",) else {"sources": [chart_spec]}


def _fields(tree: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Returns those fields of the tree that have a value."""
    return {name: tree[name] for name in names if tree.get(name)}


def _shown_helm(helm: Mapping[str, Any]) -> dict[str, Any]:
    shown_helm = _fields(helm, "valueFiles", "fileParameters")
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
    """Returns the YAML text of the values without secrets; empty if it cannot be parsed."""
    try:
        tree = read_document(text.encode(), limits=MANIFESTS) if text.strip() else {}
    except InvalidInput:
        return ""
    return text_of(shown_values(tree)) if isinstance(tree, dict) and tree else ""


def values_of(carrier: Carrier) -> dict[str, Any]:
    """Returns the Helm values in the delivery's object, without secrets.

    Raises Unavailable if some of them come from another source.
    """
    place = chart_place(carrier.kind, carrier.spec, chart=carrier.chart)
    return values_in(_manifest(carrier), place) if place else {}


def diff_to_commit(carrier: Carrier, *, version: str, edits: Edits) -> str:
    """Returns the diff of the object's manifest in the format of `diff -u`; empty if another object names the
    version."""
    place = chart_place(carrier.kind, carrier.spec, chart=carrier.chart)
    if place is None:
        return ""
    manifest = _manifest(carrier)
    spec_after, _ = changed_spec(manifest, place, version=version, edits=edits)
    before_lines, after_lines = (text_of(tree).splitlines() for tree in (manifest, {**manifest, "spec": spec_after}))
    return "\n".join(
        unified_diff(
            before_lines,
            after_lines,
            f"a/{carrier.display_name}",
            f"b/{carrier.display_name}",
            n=LINES_AROUND,
            lineterm="",
        )
    )


def _manifest(carrier: Carrier) -> dict[str, Any]:
    """Returns the manifest of the delivery's object, as far as the report holds it."""
    return {
        "kind": carrier.kind,
        "metadata": {"name": carrier.name, "namespace": carrier.namespace},
        "spec": carrier.spec,
    }
