"""One scan under way, as those who read a part of it see it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from migrations_app.clients.kubernetes.api import ClusterApi, ListPage, Resource
from migrations_app.errors import Expired, NotServed, ServerFailed, TimedOut
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import read_items
from migrations_app.inventory.parts import Part, Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

RESTARTS = 2
"""Lists begun anew after the server forgot the resource version (K11)."""
HOME_NAMESPACES = ("karpenter", "kube-system")
"""Where the charts install by default; looked into when no controller was found."""

N = TypeVar("N", bound=o.NamedObject)
Parts = dict[str, Part[Any]]


@dataclass(slots=True)
class Reading:
    """One scan under way: the client, its end on the monotonic clock, and what was found so far."""

    api: ClusterApi
    ends: float
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def check_deadline(self) -> None:
        if time.monotonic() > self.ends:
            raise TimedOut("the scan's deadline passed before this part was read")

    def learn(self, parts: Parts) -> None:
        self.found = dict(parts)
        for resource in parts["discovery"].items:
            self._prefer(resource)

    def _prefer(self, resource: o.ServedResource) -> None:
        kind = next((k for k in kinds.KINDS if (k.group, k.plural) == (resource.group, resource.plural)), None)
        if kind is None or resource.version not in kind.versions:
            return
        key = (kind.group, kind.plural)
        chosen = self.versions.get(key)
        if chosen is None or kind.versions.index(resource.version) < kind.versions.index(chosen):
            self.versions[key] = resource.version

    def candidates(self, kind: Kind, **narrow: Any) -> tuple[Resource, ...]:  # noqa: ANN401 - the fields of Resource
        """The version that discovery names, else each known one: a 404 in all of them means that nobody serves it."""
        key = (kind.group, kind.plural)
        versions = (self.versions[key],) if key in self.versions else kind.versions
        return tuple(Resource(kind.group, version, kind.plural, **narrow) for version in versions)

    def resource(self, kind: Kind, **narrow: Any) -> Resource:  # noqa: ANN401 - as above
        return self.candidates(kind, **narrow)[0]

    def each_page(self, resource: Resource, begin: Callable[[], Callable[[ListPage], None]]) -> None:
        """Feeds every page to what `begin` returns; begins anew when the server forgot the version."""
        for attempt in range(RESTARTS + 1):
            take = begin()
            try:
                for page in self.api.pages(resource):
                    self.check_deadline()
                    take(page)
                return
            except Expired:
                if attempt == RESTARTS:
                    raise

    def whole(self, kind: Kind, projection: type[N], **narrow: Any) -> Seen[N]:  # noqa: ANN401 - as `resource`
        """Every object of a kind; Seen and empty when nothing serves it."""
        self.refuse_doubtful(kind)
        for resource in self.candidates(kind, **narrow):
            try:
                return self._list(resource, projection)
            except NotServed:
                continue
        return Seen((), None)

    def refuse_doubtful(self, kind: Kind) -> None:
        """A group whose discovery failed may answer 404 for what it does hold."""
        for bad in getattr(self.found.get("discovery"), "quarantined", ()):
            if bad.name.partition("/")[0] == kind.group and kind.group:
                raise ServerFailed(f"discovery of {bad.name} failed: {bad.why}", code=bad.why)

    def _list(self, resource: Resource, projection: type[N]) -> Seen[N]:
        good: list[N] = []
        bad: list[UnparsableObject] = []

        def begin() -> Callable[[ListPage], None]:
            good.clear()
            bad.clear()

            def take(page: ListPage) -> None:
                read, refused = read_items(page.items, projection)
                good.extend(read)
                bad.extend(refused)

            return take

        self.each_page(resource, begin)
        return Seen(tuple(good), resource.group_version, tuple(bad))

    @property
    def controllers(self) -> tuple[o.Workload, ...]:
        found: tuple[o.Workload, ...] = self.found["controller"].items
        return found

    @property
    def homes(self) -> tuple[str, ...]:
        """Namespaces of the controllers and of the releases that own the CRDs; the default ones when there is none."""
        owners = (crd.metadata.annotation("meta.helm.sh/release-namespace") for crd in self.found["crds"].items)
        named = [workload.namespace for workload in self.controllers] + [owner for owner in owners if owner]
        return tuple(dict.fromkeys(named)) or HOME_NAMESPACES
