"""The protocols for reading (`ClusterApi`) and changing (`Writer`) a cluster, and the values they exchange.

A cluster is a live API server or the files of a bundle. Changes go to one named object at a time, and each names
the object version it was based on. Requests are described in RBAC terms, so that a refusal can name the missing
rule.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion
from migrations_app.errors import InvalidResponse
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.manifests import JsonMap

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete"]

_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
LONGEST_PATH = 2048


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request in RBAC terms. `plural` is empty for paths such as /version, which RBAC calls nonResourceURLs."""

    verb: Verb
    path: str
    group: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def what(self) -> str:
        """The resource in words, such as `nodepools.karpenter.sh` or `pods in kube-system`."""
        if not self.plural:
            return self.path
        full = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{full} in {self.namespace}" if self.namespace else full

    @property
    def rule(self) -> str:
        """The RBAC rule that allows the request, as one line of YAML."""
        if not self.plural:
            return f'{{nonResourceURLs: ["{self.path}"], verbs: ["{self.verb}"]}}'
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.plural}"], verbs: ["{self.verb}"]}}'


def api_request(verb: Verb, path: str) -> ApiRequest:
    """The request in RBAC terms. Raises InvalidResponse if the path is not an API server path (K13)."""
    parts = check_path(path)
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return ApiRequest(verb, path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return ApiRequest(verb, path, group, rest[0], namespace, rest[1] if len(rest) > 1 else "")


def check_path(path: str) -> list[str]:
    """The segments of the path; none is empty, `.` or `..`. Raises InvalidResponse with code `bad_path`."""
    parts = path[1:].split("/")
    odd = not path.startswith("/") or len(path) > LONGEST_PATH
    if odd or any(not _SEGMENT.fullmatch(part) for part in parts):
        raise InvalidResponse("a name in the path is not one of Kubernetes", code="bad_path")
    return parts


@dataclass(frozen=True, slots=True)
class Resource:
    """What to list. The core group is the empty string. `namespace` restricts the list to one namespace."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    page_size: int = 500

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        middle = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{middle}/{self.plural}"


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list; the items are undecoded JSON."""

    items: list[msgspec.Raw]
    resource_version: str = ""
    bytes_read: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """The resources that can be listed. `failed` maps a group/version whose discovery failed to the error code."""

    resources: tuple[ServedResource, ...]
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """`server_date` is the Date header of the newest response, such as 2026-01-02T03:04:05Z; for a bundle, when it was
    made.
    """

    server_date: str | None = None
    requests: int = 0
    bytes_read: int = field(default=0)
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Number of requests by RBAC verb and HTTP status; the status is `none` if no response came."""
    documents: int = 0
    passed_over: int = 0
    """For a bundle: how many documents it contains, and how many of them have no kind and therefore
    appear in no list.
    """


class WatchingApi(Protocol):
    """Reads of a server that can show whether a list has changed."""

    def is_unchanged(self, resource: Resource, *, since: str, count: int, seconds: int) -> bool:
        """Whether the server proves that a list still holds the `count` objects of that resource version.

        Waits at most `seconds`. Raises ReadError. After False or an error, the list may have changed.
        """


class ClusterApi(Protocol):
    """Reads of one cluster. Every failure is an errors.ReadError; listing a kind that is not served
    raises NotServed.
    """

    def get(self, path: str) -> bytes:
        """The body of one object or document, such as /version or /apis; at most 64 MiB."""

    def served(self) -> Served:
        """Every resource that can be listed, with its versions; for a bundle, the resources of the objects in it."""

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        """All pages of a list at one resource version. Raises Expired if the server gives that version up: start
        again.
        """

    def clock(self) -> Clock:
        """What was read so far, and the server's time."""

    def close(self) -> None:
        """Closes connections and drops credentials; safe to call twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The server's response to one request. `conflicts` names the field managers of a refused server-side apply."""

    status: int
    reason: str = ""
    message: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    object: JsonMap | None = None
    conflicts: tuple[str, ...] = ()
    retry_after: float | None = None

    @property
    def done(self) -> bool:
        return 200 <= self.status < 300

    @property
    def in_doubt(self) -> bool:
        """The server failed while processing the request: only a read can show whether the change happened (A22)."""
        return self.status >= 500 or self.status == 408


class Writer(Protocol):
    """Changes to one cluster, as one identity. `purpose` becomes part of the User-Agent: `action=<id>
    step=<n>` (K16).
    """

    def identity(self) -> ClusterIdentity:
        """Which cluster this is (A05). Raises ReadError."""

    def read(self, target: ObjectTarget) -> JsonMap | None:
        """The current object; None if it does not exist. Raises ReadError if that cannot be determined."""

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        """All pages of a list, as in ClusterApi. Raises ReadError."""

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        """Whether the server grants these credentials the permission (A26); without a name, for every object.

        Raises ReadError.
        """

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        """The response to the request as a server-side dry run (K14). Raises ReadError if there is no response."""

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        """The response to the request, which is sent once and never retried (A20). Raises ReadError if there is no
        response.
        """

    def close(self) -> None:
        """Closes connections and drops credentials; safe to call twice."""
