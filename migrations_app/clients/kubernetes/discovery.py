"""API discovery: one aggregated request if the server supports it, otherwise one request for each group/version."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from migrations_app.clients.kubernetes.api import Served
from migrations_app.errors import InvalidResponse, ReadError
from migrations_app.inventory.objects.karpenter import ServedResource

AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
ACCEPT = f"{AGGREGATED},application/json"
MAX_GROUP_VERSIONS = 1000
MAX_COMMAS = 200_000
"""In one answer, counted before it is decoded: a resource may be written as `{},` and takes 200 bytes of memory."""

T = TypeVar("T")
DiscoveryRequest = Callable[[str, str], bytes | bytearray]
"""Returns the body for (path, Accept header)."""


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] = []


class _ResourceList(msgspec.Struct, frozen=True):
    resources: list[_Resource] | None = None


class _ResponseKind(msgspec.Struct, frozen=True):
    kind: str = ""


class _NewResource(msgspec.Struct, frozen=True):
    resource: str = ""
    scope: str = ""
    verbs: list[str] = []
    response_kind: _ResponseKind | None = msgspec.field(default=None, name="responseKind")


class _NewVersion(msgspec.Struct, frozen=True):
    version: str = ""
    freshness: str = "Current"
    resources: list[_NewResource] | None = None


class _GroupMetadata(msgspec.Struct, frozen=True):
    name: str = ""


class _ApiGroup(msgspec.Struct, frozen=True):
    """A group in either format: APIGroup has `name`, APIGroupDiscovery has metadata and complete versions."""

    name: str = ""
    metadata: _GroupMetadata | None = None
    versions: list[_NewVersion] = []


class _Groups(msgspec.Struct, frozen=True):
    kind: str = ""
    groups: list[_ApiGroup] | None = None
    items: list[_ApiGroup] | None = None


def served(ask: DiscoveryRequest) -> Served:
    """Every resource that can be listed. A group/version that fails is recorded in `failed`; only a failure of /apis
    itself raises.
    """
    resources: list[ServedResource] = []
    failed: dict[str, str] = {}
    groups = _decode(bytes(ask("/apis", ACCEPT)), _Groups)
    if groups.kind == "APIGroupDiscoveryList":
        core = _decode(bytes(ask("/api", ACCEPT)), _Groups)
        for group in (*(core.items or ()), *(groups.items or ())):
            resources += _from_discovery(group, failed)
    else:
        for group, version in _group_versions(groups):
            try:
                resources += _resources_of_version(ask, group, version=version)
            except ReadError as reason:
                failed[f"{group}/{version}" if group else version] = reason.code
    return Served(tuple(resources), failed)


def _group_versions(groups: _Groups) -> list[tuple[str, str]]:
    group_versions = [(group.name, version.version) for group in groups.groups or () for version in group.versions]
    if len(group_versions) > MAX_GROUP_VERSIONS:
        raise InvalidResponse("the server names too many API groups")
    return [("", "v1"), *group_versions]


def _resources_of_version(ask: DiscoveryRequest, group: str, *, version: str) -> list[ServedResource]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    resource_list = _decode(bytes(ask(path, "application/json")), _ResourceList)
    return [
        ServedResource(
            group=group, version=version, plural=resource.name, kind=resource.kind, namespaced=resource.namespaced
        )
        for resource in resource_list.resources or ()
        if "list" in resource.verbs and "/" not in resource.name
    ]


def _from_discovery(group: _ApiGroup, failed: dict[str, str]) -> Iterator[ServedResource]:
    name = group.metadata.name if group.metadata else ""
    for version in group.versions:
        if version.freshness == "Stale":
            failed[f"{name}/{version.version}" if name else version.version] = "server_failed"
        for resource in version.resources or ():
            if "list" in resource.verbs:
                yield ServedResource(
                    group=name,
                    version=version.version,
                    plural=resource.resource,
                    kind=resource.response_kind.kind if resource.response_kind else "",
                    namespaced=resource.scope == "Namespaced",
                )


def _decode(body: bytes, kind: type[T]) -> T:
    if body.count(b",") > MAX_COMMAS:
        raise InvalidResponse("the server's discovery names too many resources")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse("the server's discovery is not a valid answer of an API server") from None
