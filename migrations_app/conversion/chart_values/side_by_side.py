"""Compares old and new values of a chart: for each key what became of it, and why."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from migrations_app.conversion.chart_values.trees import VARIABLES, Tree, hidden, laid, leaves, steps_of
from migrations_app.karpenter.chart_defaults import ChangedDefault, changed_defaults
from migrations_app.karpenter.controller_settings import (
    UnreadKey,
    ends_with_webhooks,
    unread_crd_chart_keys,
    unread_env_names,
    unread_helm_keys,
)
from migrations_app.karpenter.versions import Release
from migrations_app.redaction import REMOVED, is_secret_name, is_unredacted

MAIN: Final = "karpenter"
CRDS: Final = "karpenter-crd"
RowKind = Literal["renamed", "set", "removed", "lost", "not_read", "default_changed", "kept"]
KINDS: Final[tuple[RowKind, ...]] = (
    "lost", "renamed", "removed", "set", "default_changed", "not_read", "kept",
)  # fmt: skip
"""In display order."""


class ValueRow(msgspec.Struct, frozen=True, kw_only=True):
    """One key. `old` and `new` are JSON, empty where the value is not given.

    `lost`: taken out, and nothing takes over what it did; `loss` says what that is. `not_read`: it stays, and the chart
    of the new release does not read it. `default_changed`: nobody gives it, and the chart's own value is another one.
    """

    key: str
    kind: RowKind
    old: str = ""
    new: str = ""
    new_key: str = ""
    """The new key of a renamed value."""
    why: str = ""
    loss: str = ""
    secret: bool = False
    """Whether a part of the value is hidden."""


class ValueChange(NamedTuple):
    """A change of one value: the dotted key, its new value as JSON (empty to remove it), and the reason. `source` is
    the former key of a moved value."""

    key: str
    text: str
    why: str = ""
    source: str = ""


def side_by_side(
    old: Tree, changes: Iterable[ValueChange], *, chart: str, start: Release | None, target_release: Release
) -> tuple[ValueRow, ...]:
    """A row for each value before or after the changes, and for each chart default that differs between the two
    releases and is not overridden; without the latter if `start` is unknown. Rows that change something come first."""
    change_of = {change.key: change for change in changes}
    old_leaves, new_leaves = (
        leaves(old),
        leaves(laid(old, ((value_change.key, value_change.text) for value_change in change_of.values()))),
    )
    rows = list(
        _Compared(old_leaves, new_leaves, change_of=change_of, chart=chart, target_release=target_release).rows()
    )
    if chart == MAIN and start is not None:
        keys = (*old_leaves, *new_leaves)
        rows += [
            _default(changed_default)
            for changed_default in changed_defaults(start, target_release)
            if not _is_given(changed_default.key, keys)
        ]
    return tuple(sorted(rows, key=lambda row: KINDS.index(row.kind)))


def after(old: Tree, changes: Iterable[ValueChange]) -> dict[str, Any]:
    """The values after the changes: the old values of the next hop."""
    return laid(old, ((change.key, change.text) for change in changes))


def unread_at(key: str, release: Release, *, chart: str) -> UnreadKey | None:
    """The tables' entry for a key that the chart of that release does not read; None if the chart reads the key or the
    tables do not know it."""
    if key.startswith(f"{VARIABLES}["):
        return next(iter(unread_env_names([key[len(VARIABLES) + 1 : -1]], release)), None)
    unread = unread_crd_chart_keys if chart == CRDS else unread_helm_keys
    return next(iter(unread(laid({}, ((key, "true"),)), release)), None)


class _Compared:
    """Compares two sets of values key by key."""

    def __init__(
        self,
        old_leaves: Mapping[str, Any],
        new_leaves: Mapping[str, Any],
        *,
        change_of: Mapping[str, ValueChange],
        chart: str,
        target_release: Release,
    ) -> None:
        self.old_leaves, self.new_leaves, self.change_of = old_leaves, new_leaves, change_of
        self.chart, self.target_release = chart, target_release

    def rows(self) -> Iterator[ValueRow]:
        unread = {
            key: unread_key
            for key in self.old_leaves
            if (unread_key := unread_at(key, self.target_release, chart=self.chart))
        }
        gone = [key for key in self.old_leaves if key not in self.new_leaves]
        new = {key for key in self.new_leaves if key not in self.old_leaves}
        moved = {key: unread[key].replacement for key in gone if key in unread and unread[key].replacement in new}
        for key in self.old_leaves:
            if key in moved:
                yield self._row(key, "renamed", new_key=moved[key], new=self.new_leaves[moved[key]])
            elif key not in self.new_leaves:
                yield self._lost_row(key, unread.get(key))
            elif self.new_leaves[key] != self.old_leaves[key]:
                yield self._row(key, "set", new=self.new_leaves[key])
            elif key in unread:
                yield self._row(key, "not_read", new=self.new_leaves[key], loss=unread[key].fate)
            else:
                yield self._row(key, "kept", new=self.new_leaves[key])
        yield from (
            self._row(key, "set", new=self.new_leaves[key]) for key in self.new_leaves if key in new - {*moved.values()}
        )

    def _lost_row(self, key: str, unread: UnreadKey | None) -> ValueRow:
        harmless = (
            unread is None or ends_with_webhooks(key, self.target_release) or unread.replacement in self.new_leaves
        )
        if harmless or unread is None or unread.becomes == self.old_leaves[key]:
            return self._row(key, "removed", why=unread.fate if unread else "")
        where = f"{unread.fate}; instead: {unread.replacement}" if unread.replacement else unread.fate
        return self._row(key, "lost", loss=where)

    def _row(
        self, key: str, kind: RowKind, *, new: object = None, new_key: str = "", why: str = "", loss: str = ""
    ) -> ValueRow:
        old, secret = shown(key, self.old_leaves.get(key))
        new_text, new_secret = shown(new_key or key, new)
        return ValueRow(
            key=key,
            kind=kind,
            old=old,
            new=new_text,
            new_key=new_key,
            why="" if kind == "kept" else self._why(key) or self._why(new_key) or why,
            loss=loss,
            secret=secret or new_secret,
        )

    def _why(self, key: str) -> str:
        """The reason for the change of that key, or of the list that contains it."""
        holds = (key, VARIABLES) if key.startswith(f"{VARIABLES}[") else (key,)
        return next((self.change_of[hold].why for hold in holds if hold in self.change_of), "")


def shown(key: str, value: object) -> tuple[str, bool]:
    """The value as JSON without secrets, and whether something was hidden. A reference to a Secret is not hidden."""
    if value is None:
        return "", False
    name = key.rpartition("[")[2].strip("]") if key.endswith("]") else steps_of(key)[-1]
    visible = REMOVED if isinstance(value, str) and value and is_secret_name(name) else hidden(value)
    return json.dumps(visible, ensure_ascii=False), visible != value or not is_unredacted(visible)


def _is_given(key: str, keys: Iterable[str]) -> bool:
    return any(given_key == key or key.startswith(f"{given_key}.") for given_key in keys)


def _default(default: ChangedDefault) -> ValueRow:
    return ValueRow(key=default.key, kind="default_changed", old=default.old, new=default.new, why=default.why)
