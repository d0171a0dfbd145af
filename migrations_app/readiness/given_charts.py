"""Collects the Helm values that were set for Karpenter's charts, for a report; possible secrets are removed."""

from collections.abc import Iterator
from typing import Any, Final

from migrations_app.conversion.chart_values.trees import Tree, hidden
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, given_values, records_unread
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.tables.helm_rows import MAIN_CHART, READ_BY_ALL
from migrations_app.readiness.report import GivenChart
from migrations_app.redaction import REMOVED

_SETTING_VARIABLES: Final = frozenset(row.name for row in ENV_NAMES)
_KNOWN_KEYS: Final = frozenset(key.partition(".")[0] for key in (*READ_BY_ALL, *(row.key for row in MAIN_CHART)))
_FREE_CONTENT: Final = frozenset({"extraObjects", "extraVolumes", "global", "initContainers"})
_FREE_CONTENT_OF_CONTROLLER: Final = frozenset(
    {"envFrom", "extraVolumeMounts", "sidecarContainer", "sidecarVolumeMounts"}
)
"""Names of values whose content is free, so that they may hold secrets."""


def given_charts(inventory: Inventory) -> tuple[GivenChart, ...]:
    """Returns the values of each release of the two charts that Helm has a record of. For a chart without a record:
    the values that Flux or Argo CD deliver, or, for the main chart, the reason why its values are not known."""
    return (*_recorded(inventory), *_delivered(inventory))


def _recorded(inventory: Inventory) -> Iterator[GivenChart]:
    """Yields the values from Helm's release records."""
    for record in inventory.helm_releases.items:
        if record.chart in (CHART, CRD_CHART):
            yield GivenChart(
                chart=record.chart,
                release=record.name,
                namespace=record.namespace,
                origin="Helm release record",
                values=hidden(record.config),  # reading a record keeps settings only
            )


def _delivered(inventory: Inventory) -> Iterator[GivenChart]:
    """Yields the values from Flux or Argo CD of charts that have no release record."""
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
    """Returns the values; free content and possible secrets are replaced by a mark."""
    values: dict[str, Any] = hidden({key: _top_level_value(key, value) for key, value in tree.items()})
    controller = values.get("controller")
    if isinstance(controller, dict):
        values["controller"] = {key: _controller_value(key, value) for key, value in controller.items()}
    return values


def _top_level_value(key: str, value: object) -> object:
    return REMOVED if value and (key in _FREE_CONTENT or key not in _KNOWN_KEYS) else value


def _controller_value(key: str, value: object) -> object:
    if key == "env" and isinstance(value, list):
        return [_variable(row) for row in value if isinstance(row, dict)]
    return REMOVED if value and key in _FREE_CONTENT_OF_CONTROLLER else value


def _variable(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "value": REMOVED} if "value" in row and row.get("name") not in _SETTING_VARIABLES else row
