"""Computes the inventory after metrics were renamed in the queries of an object."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.changes import QueryRename
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.metric_queries import MetricUser
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

QUERY_PARTS: Final[Mapping[str, str]] = {
    "PrometheusRule": "prometheus_rules",
    "ConfigMap": "dashboards",
    "ServiceMonitor": "monitors",
    "VMRule": "other_queries",
    "ScaledObject": "other_queries",
    "ScaledJob": "other_queries",
    "PodMonitor": "monitors",
}
"""By kind the part that holds its objects."""


def with_metrics_renamed(inventory: Inventory, change: QueryRename) -> Inventory | NotShown:
    """The inventory after each old name was replaced as a whole word. The object stays in its part, even if it names no
    metric of Karpenter any more."""
    target = change.target
    if target.kind not in QUERY_PARTS:
        return NotShown("kind_not_read", target.kind)
    part = inventory.part(QUERY_PARTS[target.kind])
    if not isinstance(part, Seen):
        return NotShown("part_not_read", QUERY_PARTS[target.kind])
    target_key = (target.kind, target.namespace, target.name)
    items = tuple(
        _with_new_names(item, change.names)
        if isinstance(item, MetricUser) and (item.kind, item.namespace, item.name) == target_key
        else item
        for item in part.items
    )
    if all(new is old for new, old in zip(items, part.items, strict=True)):
        return NotShown("target_gone", f"{target.kind} {target.name}")
    return with_parts(inventory, {QUERY_PARTS[target.kind]: with_items(part, items)})


def _with_new_names(metric_user: MetricUser, names: Mapping[str, str]) -> MetricUser:
    return replace(
        metric_user, queries=[replace(query, text=_replaced_names(query.text, names)) for query in metric_user.queries]
    )


def _replaced_names(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new.replace("\\", r"\\"), text, flags=re.ASCII)
    return text
