"""What a planted entry of the coverage is, and how a clean cluster of another release is made beside it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import msgspec

from migrations_app.clients.bundle.bundle import NAME, SCHEMA, BundleManifest, RequestedPart
from migrations_app.karpenter.kinds import Kind
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from tests.acceptance.clusters import Clean, find, made
from tests.acceptance.judging import as_list, collected, judged
from tests.acceptance.planting import Document, Plant


def as_it_is(_documents: list[Document]) -> None:
    """Nothing is planted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedEntry:
    """`check` names `kind` `object` at `path` and says `says`, and does not before `plant`. `of` are the changes and
    pains that it stands for.

    `ready` makes the clean cluster one that the entry does not touch, where every cluster of its release is touched by
    it; `other` are fields of Clean that it has instead of its own. `hop` is where the entry is looked for, if not at
    the next one. `beside` are other blockers and warnings that are right to appear there with it. `status` is "manual"
    where a person is asked to look: then the object is named in the summary. `refused` are lists that the API server
    does not answer, as a bundle's manifest tells them.
    """

    of: tuple[str, ...]
    on: str
    plant: Plant
    check: str
    kind: str
    object: str
    path: str = ""
    namespace: str = ""
    says: str = ""
    hop: str = ""
    status: str = "fail"
    beside: frozenset[str] = frozenset()
    ready: Plant = as_it_is
    other: dict[str, Any] = field(default_factory=dict, hash=False)
    kubernetes: str = ""
    refused: tuple[RequestedPart, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.on}/{self.of[0]}/{self.check}"

    @property
    def clean(self) -> Clean:
        return replace(find(self.on), **self.other)

    @property
    def at(self) -> str:
        """The hop at which it is looked for."""
        return self.hop or self.clean.hop

    @property
    def place(self) -> tuple[str, str, str, str]:
        return self.kind, self.namespace, self.object, self.path


@cache
def before_and_after(entry: PlantedEntry) -> tuple[Report, Report]:
    """The report on the clean cluster, and on the one with the entry planted in it."""
    documents = made(entry.clean)
    entry.ready(documents)
    return judged(entry.clean, documents), evaluate(scanned(entry)).report


@cache
def scanned(entry: PlantedEntry) -> CollectResult:
    """What a scan reads of the cluster with the entry planted in it."""
    documents = made(entry.clean)
    entry.ready(documents)
    entry.plant(documents)
    files = as_list(documents, kubernetes=entry.kubernetes or entry.clean.kubernetes)
    if entry.refused:
        manifest = BundleManifest(schema=SCHEMA, whole=True, asked=list(entry.refused))
        files |= {NAME: msgspec.json.encode(manifest)}
    return collected(entry.clean.name, files)


def refused(kind: Kind, *, why: str, detail: str) -> RequestedPart:
    """A list that failed."""
    return RequestedPart(group=kind.group, plural=kind.plural, seen=False, why=why, detail=detail)


def rebuilt(on: str, **other: Any) -> Plant:
    """The cluster as it is with these fields of Clean: of another release, or in another namespace."""

    def plant(documents: list[Document]) -> None:
        documents[:] = made(replace(find(on), **other))

    return plant


def taken_from(on: str, kind: str, names: Iterable[str] = (), **other: Any) -> Plant:
    """Objects of a kind that a clean cluster of another release has; all of them where no name is given."""

    def plant(documents: list[Document]) -> None:
        wanted = tuple(names)
        found = [one for one in made(replace(find(on), **other)) if one["kind"] == kind]
        documents += [one for one in found if not wanted or one["metadata"]["name"] in wanted]

    return plant
