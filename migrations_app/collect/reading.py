"""The state of one collection that is shared by the readers of its parts."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from migrations_app.clients.kubernetes.api import ClusterApi, ListPage, Resource
from migrations_app.errors import (
    CONVERSION_FAILED,
    STORED_VERSION_GONE,
    Expired,
    InvalidResponse,
    NotServed,
    ReadError,
    ServerFailed,
    TimedOut,
)
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import read_items
from migrations_app.inventory.parts import OtherVersion, Part, Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

MAX_RESTARTS = 2
"""How often a list is restarted after its resource version expired (K11)."""
HOME_NAMESPACES = ("karpenter", "kube-system")
"""Default namespaces of the Helm charts; used if no controller was found."""

MAY_BE_CONVERSION = (CONVERSION_FAILED, STORED_VERSION_GONE, ServerFailed.code)
"""Codes after which another version of a Karpenter kind is tried; an overloaded server is not tried again."""
MAX_DETAIL_LENGTH = 500
"""Maximum characters kept of the server's message."""

N = TypeVar("N", bound=o.NamedObject)
Parts = dict[str, Part[Any]]


@dataclass(frozen=True, slots=True)
class ListNote:
    """A list that was read completely, and its resource version; empty if the source has none."""

    resource: Resource
    version: str


def refuse_repeated(resource: Resource, *, is_repeated: bool) -> None:
    """Raises InvalidResponse if a list contains an object more than once: then others may be missing.

    If the files of a bundle contain an object twice, the bundle returns it once.
    """
    if is_repeated:
        raise InvalidResponse(f"the list of {resource.plural} contains objects twice", code="listed_twice")


@dataclass(slots=True)
class Reading:
    """One running collection: the client, its deadline on the monotonic clock, and the parts read so far."""

    api: ClusterApi
    ends: float
    versions: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The versions that discovery reports, by group and plural, newest first; only versions that karpdash knows."""
    found: dict[str, Any] = field(default_factory=dict)
    noted: list["ListNote"] | None = None
    """The completely read lists; None if they are not recorded."""

    def check_deadline(self) -> None:
        if time.monotonic() > self.ends:
            raise TimedOut("the scan's deadline passed before this data source was read")

    def learn(self, parts: Parts) -> None:
        self.found = dict(parts)
        for resource in parts["discovery"].items:
            self._prefer(resource)

    def _prefer(self, resource: o.ServedResource) -> None:
        kind = next((k for k in kinds.KINDS if (k.group, k.plural) == (resource.group, resource.plural)), None)
        if kind is None or resource.version not in kind.versions:
            return
        key = (kind.group, kind.plural)
        known = {*self.versions.get(key, ()), resource.version}
        self.versions[key] = tuple(version for version in kind.versions if version in known)

    def served(self, kind: Kind) -> tuple[str, ...]:
        """The versions that discovery reports, newest first; every known one if it does not report the kind."""
        return self.versions.get((kind.group, kind.plural), kind.versions)

    def candidates(self, kind: Kind, **narrow: Any) -> tuple[Resource, ...]:  # noqa: ANN401 - the fields of Resource
        """The version that discovery reports, else each known version: the kind is not served if all of them return
        404.
        """
        reported = (kind.group, kind.plural) in self.versions
        versions = self.served(kind)[:1] if reported else kind.versions
        return tuple(Resource(kind.group, version, kind.plural, **narrow) for version in versions)

    def resource(self, kind: Kind, **narrow: Any) -> Resource:  # noqa: ANN401 - as above
        return self.candidates(kind, **narrow)[0]

    def each_page(self, resource: Resource, begin: Callable[[], Callable[[ListPage], None]]) -> None:
        """Passes every page to the function that `begin` returns. Starts again if the resource version expires."""
        for attempt in range(MAX_RESTARTS + 1):
            take, version = begin(), ""
            try:
                for page in self.api.pages(resource):
                    self.check_deadline()
                    take(page)
                    version = page.resource_version
                if self.noted is not None:
                    self.noted.append(ListNote(resource, version))
                return
            except Expired:
                if attempt == MAX_RESTARTS:
                    raise

    def whole(self, kind: Kind, projection: type[N], **narrow: Any) -> Seen[N]:  # noqa: ANN401 - as `resource`
        """Every object of a kind; empty if the kind is not served."""
        self.refuse_doubtful(kind)
        for resource in self.candidates(kind, **narrow):
            try:
                return self.listed(resource, projection)
            except NotServed:
                continue
            except ReadError as reason:
                return self._in_another_version(kind, resource, projection=projection, reason=reason)
        self.refuse_contradicted(kind)
        return Seen((), None)

    def _in_another_version(self, kind: Kind, resource: Resource, *, projection: type[N], reason: ReadError) -> Seen[N]:
        """The list in another served version.

        Raises `reason` if there is none, or none of them works. Objects are stored in one version: with a broken
        conversion webhook, the list in that version needs no conversion.
        """
        others = self.served(kind) if kind.generation and reason.code in MAY_BE_CONVERSION else ()
        for version in others:
            if version == resource.version:
                continue
            try:
                seen = self.listed(replace(resource, version=version), projection)
            except ReadError:
                continue
            return replace(
                seen,
                other_version=OtherVersion(resource.group_version, reason.code, reason.message[:MAX_DETAIL_LENGTH]),
            )
        raise reason

    def refuse_doubtful(self, kind: Kind) -> None:
        """Raises ServerFailed if discovery of the kind's group failed: then a 404 does not prove its absence."""
        for bad in getattr(self.found.get("discovery"), "quarantined", ()):
            if bad.name.partition("/")[0] == kind.group and kind.group:
                raise ServerFailed(f"discovery of {bad.name} failed: {bad.why}", code=bad.why)

    def refuse_contradicted(self, kind: Kind) -> None:
        """Raises ServerFailed if discovery reports the kind but its list is not found: one of the two is wrong."""
        named = getattr(self.found.get("discovery"), "items", ())
        if any((entry.group, entry.plural) == (kind.group, kind.plural) for entry in named):
            raise ServerFailed(f"discovery names {kind.plural}, but no list of them in a version that karpdash reads")

    def listed(self, resource: Resource, projection: type[N]) -> Seen[N]:
        """Every object of the list. Raises ReadError."""
        good: list[N] = []
        bad: list[UnparsableObject] = []

        def begin() -> Callable[[ListPage], None]:
            good.clear()
            bad.clear()

            def take(page: ListPage) -> None:
                read, refused = read_items(page.items, projection, namespace=resource.namespace)
                good.extend(read)
                bad.extend(refused)

            return take

        self.each_page(resource, begin)
        refuse_repeated(resource, is_repeated=len({(item.namespace, item.name) for item in good}) < len(good))
        hidden = bool(good) and not any(item.metadata.managed_fields for item in good)
        return Seen(tuple(good), resource.group_version, tuple(bad), fields_hidden=hidden)

    @property
    def controllers(self) -> tuple[o.Workload, ...]:
        workloads: tuple[o.Workload, ...] = self.found["controller"].items
        return workloads

    @property
    def karpenter_namespaces(self) -> tuple[str, ...]:
        """Namespaces of the controllers and of the Helm releases that own the CRDs; without any, the defaults.

        If a controller has no namespace, the list of all namespaces as "", because its objects may be in any.
        """
        owners = (crd.metadata.annotation("meta.helm.sh/release-namespace") for crd in self.found["crds"].items)
        named = [*(workload.namespace for workload in self.controllers), *(owner for owner in owners if owner)]
        return lists_of(named) or HOME_NAMESPACES


def lists_of(homes: Iterable[str]) -> tuple[str, ...]:
    """The namespaces to list so that every object is listed once: only "", the list of all namespaces, if it is among
    them.
    """
    named = sorted(set(homes))
    return ("",) if "" in named else tuple(named)
