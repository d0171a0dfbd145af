"""Converts the values of a chart to another release: a value moves if its key has a successor, and is removed if it has
none."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from migrations_app.conversion.chart_values.side_by_side import (
    MAIN,
    ValueChange,
    ValueRow,
    side_by_side,
    unread_at,
)
from migrations_app.conversion.chart_values.trees import EMPTY, VARIABLES, Tree, laid, leaves, steps_of, value_of
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.karpenter.controller_settings import ends_with_webhooks, unknown_helm_keys, unread_env_names
from migrations_app.karpenter.detection import image_release
from migrations_app.karpenter.versions import Release, minor_order

KIND: Final = "Values"
TAG: Final = "controller.image.tag"
DIGEST: Final = "controller.image.digest"
MAX_TEXT_LENGTH: Final = 60
"""Longer values are not quoted in sentences."""
_OVERRIDES: Final = ("fullnameOverride", "nameOverride")
_CODES: Final = {
    "renamed": "values-moved",
    "lost": "values-lost",
    "removed": "values-left-out",
    "default_changed": "values-default-changed",
}


class ConvertedValues(NamedTuple):
    """`tree` has the values for the new release, `changes` are the changes that make it. `rows` hide secrets, the tree
    does not."""

    tree: dict[str, Any]
    changes: tuple[ValueChange, ...]
    rows: tuple[ValueRow, ...]
    findings: tuple[ConversionFinding, ...]


def convert_values(old: Tree, *, chart: str, start: Release, target_release: Release) -> ConvertedValues:
    """Converts values of the chart of release `start` to the chart of release `target_release`."""
    changes = tuple(_changes(old, chart=chart, target_release=target_release))
    rows = side_by_side(old, changes, chart=chart, start=start, target_release=target_release)
    tree = laid(old, ((change.key, change.text) for change in changes), prune=True)
    findings = (
        *_row_findings(rows, chart),
        *(_open(old, tree, target_release=target_release) if chart == MAIN else ()),
    )
    return ConvertedValues(tree, changes, rows, findings)


def _changes(old: Tree, *, chart: str, target_release: Release) -> Iterator[ValueChange]:
    old_values = leaves(old, empty=True)
    taken: set[str] = set()
    for key, value in old_values.items():
        unread = None if key.startswith(VARIABLES) else unread_at(key, target_release, chart=chart)
        if unread is None:
            continue
        to = unread.replacement
        if value in EMPTY:
            yield ValueChange(key, "")
        elif to and " " not in to and to not in taken and value_of(old, to) in EMPTY:
            taken.add(to)
            yield ValueChange(key, "", f"{to} takes over")
            yield ValueChange(to, json.dumps(value, ensure_ascii=False), f"takes over {key}", key)
        elif to and " " not in to:
            yield ValueChange(key, "", f"{to} is given as well, and counts")
        else:
            yield ValueChange(key, "", f"{target_release} does not read it")
    if chart == MAIN:
        why = f"it names another image than that of {target_release}, which the chart knows by itself"
        yield from (ValueChange(key, "", why) for key in pinned_image(old, target_release))
        yield from _variables(old, target_release)


def pinned_image(tree: Tree, target_release: Release) -> tuple[str, ...]:
    """The keys that name the image of another release, digest included: with them the new chart would run the old
    controller."""
    tag, digest = (value_of(tree, key) for key in (TAG, DIGEST))
    pinned = image_release(f"controller:{tag}") if isinstance(tag, str) else None
    if (pinned is not None and pinned != target_release) or (digest and pinned != target_release):
        return tuple(key for key, value in ((TAG, tag), (DIGEST, digest)) if value)
    return ()


def _variables(old: Tree, target_release: Release) -> Iterator[ValueChange]:
    rows = value_of(old, VARIABLES)
    if not isinstance(rows, list):
        return
    names = [row["name"] for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)]
    gone = {unread_env_name.key for unread_env_name in unread_env_names(names, target_release)}
    if gone:
        remaining = [row for row in rows if not isinstance(row, dict) or row.get("name") not in gone]
        text = json.dumps(remaining, ensure_ascii=False) if remaining else ""
        yield ValueChange(VARIABLES, text, f"{target_release} does not read {', '.join(sorted(gone))}")


def _row_findings(rows: tuple[ValueRow, ...], chart: str) -> Iterator[ConversionFinding]:
    for row in rows:
        code = _CODES.get(row.kind)
        if code:
            yield ConversionFinding(code, KIND, chart, tuple(steps_of(row.key.partition("[")[0])), _sentence(row))


def _sentence(row: ValueRow) -> str:
    match row.kind:
        case "renamed":
            return f"{row.key} is {row.new_key} now"
        case "default_changed":
            old, new = (
                text if len(text) <= MAX_TEXT_LENGTH else "a list" for text in (row.old or "none", row.new or "none")
            )
            return f"nobody gives {row.key}, and the chart's own value goes from {old} to {new}: {row.why}"
        case "lost":
            return f"{row.key} is left out: {row.loss or row.why}"
        case _:
            return f"{row.key} is left out: {row.why}"


def _open(old: Tree, tree: Tree, *, target_release: Release) -> Iterator[ConversionFinding]:
    """Findings that the tables cannot decide."""
    if minor_order(target_release.minor) >= (0, 33) and not value_of(tree, "settings.clusterName"):
        message = "settings.clusterName is not given here: the controller ends without it"
        yield ConversionFinding("values-cluster-name", KIND, MAIN, ("settings", "clusterName"), message)
    for key in unknown_helm_keys(old):
        yield ConversionFinding("values-unknown", KIND, MAIN, (key,), f"no known chart reads {key}; it stays")
    for key in _OVERRIDES:
        if value_of(tree, key) and not ends_with_webhooks("webhook.serviceName", target_release):
            message = f"{key} gives the Service another name: karpenter-crd needs it as webhook.serviceName"
            yield ConversionFinding("values-name-override", KIND, MAIN, (key,), message)
