"""metadata.managedFields: who owns which field, kept by every write and obeyed by server-side apply.

Source: kubernetes-sigs/structured-merge-diff@v4.0.2:merge/update.go, and
kubernetes/apiserver@v0.20.2:pkg/endpoints/handlers/fieldmanager.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from migrations_app.twin.objects import fieldsets
from migrations_app.twin.objects.fieldsets import Fields
from migrations_app.twin.objects.shapes import Shape

Tree = dict[str, Any]
BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Writing:
    """Who writes: the field manager, `Update` or `Apply`, the API version of the request, its subresource."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def key(self) -> "Writing":
        """Appliers are one manager whatever version they use."""
        return replace(self, api_version="") if self.operation == "Apply" else self


@dataclass(frozen=True, slots=True)
class Share:
    """What one manager owns; `time` is when it last changed it."""

    fields: Fields
    api_version: str
    time: str


Shares = dict[Writing, Share]
Versioned = Callable[[Tree, str], Tree]
"""The document in another API version."""


class ApplyConflict(Exception):
    """Server-side apply would take fields of other managers; `found` lists (manager, API version, field)."""

    def __init__(self, found: list[tuple[str, str, str]]) -> None:
        super().__init__(f"{len(found)} conflicts")
        self.found = found


def read(managed: Iterable[Mapping[str, Any]]) -> Shares:
    """The shares in metadata.managedFields; entries that no server writes are left out."""
    found: Shares = {}
    for entry in managed:
        who = Writing(
            str(entry.get("manager", "")),
            str(entry.get("operation", "")),
            str(entry.get("apiVersion", "")),
            str(entry.get("subresource", "")),
        )
        fields = frozenset(fieldsets.from_wire(entry.get("fieldsV1") or {}))
        found[who.key] = Share(fields, who.api_version, str(entry.get("time", "")))
    return found


def written(shares: Shares) -> list[Tree]:
    """metadata.managedFields with these shares, in the server's order."""
    ordered = sorted(shares.items(), key=lambda one: (one[0].operation, one[1].time, one[0].manager))
    return [_entry(who, share) for who, share in ordered]


def _entry(who: Writing, share: Share) -> Tree:
    found = {
        "manager": who.manager,
        "operation": who.operation,
        "apiVersion": share.api_version,
        "time": share.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.to_wire(share.fields),
    }
    return found | ({"subresource": who.subresource} if who.subresource else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One write to one object: who, when, and how its fields merge in which version."""

    by: Writing
    now: str
    shape: Shape
    versioned: Versioned

    def updated(self, old: Tree, new: Tree, *, shares: Shares) -> Shares:
        """The shares after an update from `old` to `new`: what it wrote belongs to the writer alone."""
        found, told = self._taken(old, new, shares=shares, force=True)
        mine = found.get(self.by.key)
        held = mine.fields if mine else frozenset()
        fields = fieldsets.owned((held | told.changed | told.added) - told.removed)
        if fields != held or told.changed:
            found[self.by.key] = Share(fields, self.by.api_version, self.now)
        return {who: share for who, share in found.items() if share.fields}

    def applied(self, live: Tree, said: Tree, *, shares: Shares, force: bool) -> tuple[Tree, Shares]:
        """The object and the shares after server-side apply of `said`. Raises ApplyConflict."""
        last = shares.get(self.by.key)
        fields = fieldsets.named(said, self.shape)
        now = last.time if last and last.fields == fields else self.now
        shares = shares | {self.by.key: Share(fields, self.by.api_version, now)}
        new = self._pruned(fieldsets.merged(live, said, shape=self.shape), shares, last=last)
        found, told = self._taken(live, new, shares=shares, force=force)
        if told.added or told.changed or told.removed:
            found[self.by.key] = replace(found[self.by.key], time=self.now)
        return new, {who: share for who, share in found.items() if share.fields}

    def _pruned(self, merged: Tree, shares: Shares, *, last: Share | None) -> Tree:
        """Without what this applier said before, says no more, and nobody else owns."""
        if last is None or not last.fields:
            return merged
        held = fieldsets.with_parents(path for share in shares.values() for path in share.fields)
        dropped = fieldsets.with_parents(last.fields) - held
        return fieldsets.without(merged, self.shape, dropped=dropped) if dropped else merged

    def _taken(self, old: Tree, new: Tree, *, shares: Shares, force: bool) -> tuple[Shares, fieldsets.Differences]:
        """The shares of the others without what was written or removed, and the differences."""
        told = {self.by.api_version: fieldsets.differences(old, new, shape=self.shape)}
        found: Shares = {}
        conflicts: list[tuple[str, str, str]] = []
        for who, share in shares.items():
            if who == self.by.key:
                found[who] = share
                continue
            if share.api_version not in told:
                one, other = self.versioned(old, share.api_version), self.versioned(new, share.api_version)
                told[share.api_version] = fieldsets.differences(one, other, shape=self.shape)
            mine = told[share.api_version]
            taken = share.fields & (mine.changed | mine.added)
            conflicts += [(who.manager, share.api_version, fieldsets.shown(path)) for path in sorted(taken)]
            left = share.fields - taken - mine.removed
            found[who] = share if left == share.fields else replace(share, fields=left)
        if conflicts and not force:
            raise ApplyConflict(sorted(conflicts))
        return found, told[self.by.api_version]
