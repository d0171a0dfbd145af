"""Computes metadata.managedFields: which manager owns which field. Every write updates it; server-side apply obeys it.

Source: kubernetes-sigs/structured-merge-diff@v4.0.2:merge/update.go, and
kubernetes/apiserver@v0.20.2:pkg/endpoints/handlers/fieldmanager.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.objects import fieldsets
from migrations_app.twin.objects.fieldsets import Fields
from migrations_app.twin.objects.shapes import Shape

BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Writing:
    """The writer of a request: the field manager, `Update` or `Apply`, the API version, and the subresource."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def key(self) -> "Writing":
        """An applier is the same manager in every API version."""
        return replace(self, api_version="") if self.operation == "Apply" else self


@dataclass(frozen=True, slots=True)
class Share:
    """The fields of one manager; `time` is when it last changed them."""

    fields: Fields
    api_version: str
    time: str


Shares = dict[Writing, Share]
Versioned = Callable[[JsonMap, str], JsonMap]
"""The document in another API version."""


class ApplyConflict(Exception):
    """Server-side apply would take over fields of other managers; `found` lists (manager, API version, field)."""

    def __init__(self, found: list[tuple[str, str, str]]) -> None:
        super().__init__(f"{len(found)} conflicts")
        self.found = found


def read(managed: Iterable[Mapping[str, Any]]) -> Shares:
    """Returns the shares in metadata.managedFields; entries that no server writes are dropped."""
    shares: Shares = {}
    for entry in managed:
        writing = Writing(
            str(entry.get("manager", "")),
            str(entry.get("operation", "")),
            str(entry.get("apiVersion", "")),
            str(entry.get("subresource", "")),
        )
        fields = frozenset(fieldsets.from_wire(entry.get("fieldsV1") or {}))
        shares[writing.key] = Share(fields, writing.api_version, str(entry.get("time", "")))
    return shares


def written(shares: Shares) -> list[JsonMap]:
    """Returns metadata.managedFields for these shares, in the server's order."""
    ordered = sorted(shares.items(), key=lambda item: (item[0].operation, item[1].time, item[0].manager))
    return [_entry(writing, share) for writing, share in ordered]


def _entry(writing: Writing, share: Share) -> JsonMap:
    entry = {
        "manager": writing.manager,
        "operation": writing.operation,
        "apiVersion": share.api_version,
        "time": share.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.to_wire(share.fields),
    }
    return entry | ({"subresource": writing.subresource} if writing.subresource else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWrite:
    """One write to one object: the writer, the time, and how fields merge in the API version."""

    by: Writing
    now: str
    shape: Shape
    versioned: Versioned

    def updated(self, old: JsonMap, new: JsonMap, *, shares: Shares) -> Shares:
        """Returns the shares after an update from `old` to `new`: changed fields belong to the writer alone."""
        new_shares, differences = self._without_written(old, new, shares=shares, force=True)
        own_share = new_shares.get(self.by.key)
        owned_before = own_share.fields if own_share else frozenset()
        fields = fieldsets.owned((owned_before | differences.changed | differences.added) - differences.removed)
        if fields != owned_before or differences.changed:
            new_shares[self.by.key] = Share(fields, self.by.api_version, self.now)
        return {writing: share for writing, share in new_shares.items() if share.fields}

    def applied(self, live: JsonMap, document: JsonMap, *, shares: Shares, force: bool) -> tuple[JsonMap, Shares]:
        """The object and the shares after server-side apply of `document`. Raises ApplyConflict."""
        last = shares.get(self.by.key)
        fields = fieldsets.named(document, self.shape)
        now = last.time if last and last.fields == fields else self.now
        shares = shares | {self.by.key: Share(fields, self.by.api_version, now)}
        new = self._pruned(fieldsets.merged(live, document, shape=self.shape), shares, last=last)
        new_shares, differences = self._without_written(live, new, shares=shares, force=force)
        if differences.added or differences.changed or differences.removed:
            new_shares[self.by.key] = replace(new_shares[self.by.key], time=self.now)
        return new, {writing: share for writing, share in new_shares.items() if share.fields}

    def _pruned(self, merged: JsonMap, shares: Shares, *, last: Share | None) -> JsonMap:
        """Removes fields that this manager applied before, no longer applies, and no other manager owns."""
        if last is None or not last.fields:
            return merged
        owned = fieldsets.with_parents(path for share in shares.values() for path in share.fields)
        dropped = fieldsets.with_parents(last.fields) - owned
        return fieldsets.without(merged, self.shape, dropped=dropped) if dropped else merged

    def _without_written(
        self, old: JsonMap, new: JsonMap, *, shares: Shares, force: bool
    ) -> tuple[Shares, fieldsets.Differences]:
        """Returns the shares of other managers without changed or removed fields, and the differences."""
        by_version = {self.by.api_version: fieldsets.differences(old, new, shape=self.shape)}
        new_shares: Shares = {}
        conflicts: list[tuple[str, str, str]] = []
        for writing, share in shares.items():
            if writing == self.by.key:
                new_shares[writing] = share
                continue
            if share.api_version not in by_version:
                old_form, new_form = self.versioned(old, share.api_version), self.versioned(new, share.api_version)
                by_version[share.api_version] = fieldsets.differences(old_form, new_form, shape=self.shape)
            other_differences = by_version[share.api_version]
            taken = share.fields & (other_differences.changed | other_differences.added)
            conflicts += [(writing.manager, share.api_version, fieldsets.shown(path)) for path in sorted(taken)]
            remaining = share.fields - taken - other_differences.removed
            new_shares[writing] = share if remaining == share.fields else replace(share, fields=remaining)
        if conflicts and not force:
            raise ApplyConflict(sorted(conflicts))
        return new_shares, by_version[self.by.api_version]
