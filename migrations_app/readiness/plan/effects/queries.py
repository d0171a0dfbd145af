"""What becomes of an inventory when the queries of an object name metrics by their new names."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.changes import QueryRename
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.metric_queries import MetricUser
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_items, with_parts

PARTS: Final[Mapping[str, str]] = {
    "PrometheusRule": "prometheus_rules",
    "ConfigMap": "dashboards",
    "ServiceMonitor": "monitors",
    "PodMonitor": "monitors",
}
"""By kind the part that holds objects with queries."""


def renamed(inventory: Inventory, change: QueryRename) -> Inventory | NotShown:
    """After one name after the other was written anew, as a whole word; the part keeps an object that names no metric
    of Karpenter any more."""
    target = change.target
    if target.kind not in PARTS:
        return NotShown("kind_not_read", target.kind)
    part = inventory.part(PARTS[target.kind])
    if not isinstance(part, Seen):
        return NotShown("part_not_read", PARTS[target.kind])
    mine = (target.kind, target.namespace, target.name)
    items = tuple(
        _renamed(item, change.names)
        if isinstance(item, MetricUser) and (item.kind, item.namespace, item.name) == mine
        else item
        for item in part.items
    )
    if all(new is old for new, old in zip(items, part.items, strict=True)):
        return NotShown("target_gone", f"{target.kind} {target.name}")
    return with_parts(inventory, {PARTS[target.kind]: with_items(part, items)})


def _renamed(metric_user: MetricUser, names: Mapping[str, str]) -> MetricUser:
    return replace(
        metric_user, queries=[replace(query, text=_written(query.text, names)) for query in metric_user.queries]
    )


def _written(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new.replace("\\", r"\\"), text, flags=re.ASCII)
    return text
