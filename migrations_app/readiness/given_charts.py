"""The values that were given to the charts of Karpenter, for a report: nothing that may be a secret is among them."""

from collections.abc import Iterator
from typing import Any, Final

from migrations_app.conversion.chart_values.trees import Tree, hidden
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, given_values, records_unread
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.tables.helm_rows import MAIN_CHART, READ_BY_ALL
from migrations_app.readiness.report import GivenChart
from migrations_app.redaction import REMOVED

_SETTINGS: Final = frozenset(row.name for row in ENV_NAMES)
_KNOWN: Final = frozenset(key.partition(".")[0] for key in (*READ_BY_ALL, *(row.key for row in MAIN_CHART)))
_OWN: Final = frozenset({"extraObjects", "extraVolumes", "global", "initContainers"})
_OF_CONTROLLER: Final = frozenset({"envFrom", "extraVolumeMounts", "sidecarContainer", "sidecarVolumeMounts"})
"""Values with content of the user's own, which may be anything."""


def given_charts(inventory: Inventory) -> tuple[GivenChart, ...]:
    """Each release of the two charts that Helm has a record of; without one of the main chart the values that Flux or
    Argo CD deliver, or the reason why none are known."""
    return (*_recorded(inventory), *_delivered(inventory))


def _recorded(inventory: Inventory) -> Iterator[GivenChart]:
    for record in inventory.helm_releases.items:
        if record.chart in (CHART, CRD_CHART):
            yield GivenChart(
                chart=record.chart,
                release=record.name,
                namespace=record.namespace,
                origin="Helm release record",
                values=hidden(record.config),  # settings alone are kept when a record is read
            )


def _delivered(inventory: Inventory) -> Iterator[GivenChart]:
    recorded = {record.chart for record in inventory.helm_releases.items}
    for chart in (CHART, CRD_CHART):
        values = given_values(inventory, chart=chart) if chart not in recorded else None
        if values is not None:
            yield GivenChart(
                chart=chart,
                release=values.name,
                namespace=values.namespace,
                origin=f"{values.kind} {values.namespace}/{values.name}",
                values=shown_values(values.tree),
            )
        elif chart == CHART and chart not in recorded and inventory.controller.items:
            why = records_unread(inventory) or "no Helm record and no Flux or Argo CD object has them"
            yield GivenChart(chart=chart, release="", namespace="", origin="", unread=why)


def shown_values(tree: Tree) -> dict[str, Any]:
    """The values without what is the user's own or may be a secret."""
    values: dict[str, Any] = hidden({key: _without_secrets(key, value) for key, value in tree.items()})
    controller = values.get("controller")
    if isinstance(controller, dict):
        values["controller"] = {key: _of_controller(key, value) for key, value in controller.items()}
    return values


def _without_secrets(key: str, value: object) -> object:
    return REMOVED if value and (key in _OWN or key not in _KNOWN) else value


def _of_controller(key: str, value: object) -> object:
    if key == "env" and isinstance(value, list):
        return [_variable(row) for row in value if isinstance(row, dict)]
    return REMOVED if value and key in _OF_CONTROLLER else value


def _variable(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "value": REMOVED} if "value" in row and row.get("name") not in _SETTINGS else row
