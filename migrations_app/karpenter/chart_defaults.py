"""Chart defaults that differ between two releases, for values that the user does not set."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.karpenter.releases import find
from migrations_app.karpenter.table_types import MinorRelease, Since
from migrations_app.karpenter.tables.default_rows import DEFAULT_ROWS
from migrations_app.karpenter.versions import Release, release

GATES = "settings.featureGates"


class ChangedDefault(NamedTuple):
    """A value with the default `old` in one release and `new` in another, as JSON; empty if the chart has no
    default."""

    key: str
    old: str
    new: str
    why: str


def changed_defaults(start: Release, target_release: Release) -> list[ChangedDefault]:
    """The defaults of the chart karpenter that differ between `start` and `target_release`; empty if the tables do not
    know one of the two minors. A new default is left out unless its row has `appears`."""
    old, new = find(start), find(target_release)
    if old is None or new is None:
        return []
    return [
        default
        for default in _compared(old, new, start=start, target_release=target_release)
        if default.old != default.new
    ]


def _compared(
    old: MinorRelease, new: MinorRelease, *, start: Release, target_release: Release
) -> Iterator[ChangedDefault]:
    for row in DEFAULT_ROWS:
        old_value = _at(row.since, start)
        if old_value or row.appears:
            yield ChangedDefault(row.key, old_value, _at(row.since, target_release), row.why)
    why = "the port that metrics are scraped from"
    yield ChangedDefault("controller.metrics.port", json.dumps(old.metrics_port), json.dumps(new.metrics_port), why)
    old_default, new_default = old.webhook_enabled(start), new.webhook_enabled(target_release)
    if None not in (old_default, new_default):
        yield ChangedDefault(
            "webhook.enabled", json.dumps(old_default), json.dumps(new_default), "whether the webhook answers"
        )
    for gate in new.gates:
        default = old.gate_default(gate.name)
        if default is not None:
            key = f"{GATES}.{gate.name[0].lower()}{gate.name[1:]}"
            yield ChangedDefault(key, json.dumps(default), json.dumps(gate.default), "whether the feature gate is on")


def _at(since: tuple[Since[str], ...], running: Release) -> str:
    return next((step.value for step in reversed(since) if running >= release(step.patch)), "")
