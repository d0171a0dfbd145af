"""The state of one collection that is shared by the readers of its parts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from migrations_app.clients.kubernetes.api import ClusterApi, ListPage, Resource
from migrations_app.errors import CONVERSION_FAILED, Expired, NotServed, ServerFailed, TimedOut
from migrations_app.inventory.facts.conversion_webhook import strategy_of
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import read_items
from migrations_app.inventory.parts import Part, Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

RESTARTS = 2
"""How often a list is restarted after its resource version expired (K11)."""
HOME_NAMESPACES = ("karpenter", "kube-system")
"""Default namespaces of the Helm charts; read when no controller was found."""

N = TypeVar("N", bound=o.NamedObject)
Parts = dict[str, Part[Any]]


@dataclass(slots=True)
class Reading:
    """One collection under way: the client, its deadline on the monotonic clock, and the parts found so far."""

    api: ClusterApi
    ends: float
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    served: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Every known version of a kind that discovery reports."""
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
        self.served.setdefault(key, set()).add(resource.version)
        chosen = self.versions.get(key)
        if chosen is None or kind.versions.index(resource.version) < kind.versions.index(chosen):
            self.versions[key] = resource.version

    def candidates(self, kind: Kind, **narrow: Any) -> tuple[Resource, ...]:  # noqa: ANN401 - the fields of Resource
        """The version that discovery reports, else each known one: the kind is not served if all of them return 404."""
        key = (kind.group, kind.plural)
        versions = (self._stored(kind) or self.versions[key],) if key in self.versions else kind.versions
        return tuple(Resource(kind.group, version, kind.plural, **narrow) for version in versions)

    def _stored(self, kind: Kind) -> str:
        """The version in which the objects are stored if nothing converts them; empty if something does.

        Without a conversion the server only writes another apiVersion over the same content.
        """
        crds = getattr(self.found.get("crds"), "items", ())
        crd = next((one for one in crds if one.name == kind.crd_name), None) if kind.group else None
        if crd is None or strategy_of(crd) != "None" or crd.storage not in self.served[(kind.group, kind.plural)]:
            return ""
        return str(crd.storage)

    def resource(self, kind: Kind, **narrow: Any) -> Resource:  # noqa: ANN401 - as above
        return self.candidates(kind, **narrow)[0]

    def each_page(self, resource: Resource, begin: Callable[[], Callable[[ListPage], None]]) -> None:
        """Passes every page to the function that `begin` returns. Starts again if the resource version expires."""
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
        """Every object of a kind; empty if the kind is not served."""
        self.refuse_doubtful(kind)
        for resource in self.candidates(kind, **narrow):
            try:
                return self._list(resource, projection)
            except NotServed:
                continue
            except ServerFailed as failed:
                if failed.code != CONVERSION_FAILED:
                    raise
                return self._unconverted(kind, projection, asked=resource, failed=failed)
        return Seen((), None)

    def _unconverted(self, kind: Kind, projection: type[N], *, asked: Resource, failed: ServerFailed) -> Seen[N]:
        """The list in another served version, where no object needs the conversion that fails. Raises `failed`."""
        for version in sorted(self.served.get((kind.group, kind.plural), set()) - {asked.version}):
            try:
                found = self._list(replace(asked, version=version), projection)
            except (NotServed, ServerFailed):
                continue
            return replace(found, instead_of=asked.group_version)
        raise failed

    def refuse_doubtful(self, kind: Kind) -> None:
        """Raises ServerFailed if discovery of the kind's group failed: then a 404 does not prove its absence."""
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
        """Namespaces of the controllers and of the Helm releases that own the CRDs; if there are none, the defaults."""
        owners = (crd.metadata.annotation("meta.helm.sh/release-namespace") for crd in self.found["crds"].items)
        named = [workload.namespace for workload in self.controllers] + [owner for owner in owners if owner]
        return tuple(dict.fromkeys(named)) or HOME_NAMESPACES
