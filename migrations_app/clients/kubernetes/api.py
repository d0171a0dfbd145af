"""What one request asks for, in the words of RBAC: so that a refusal can name the rule that is missing.

The port through which a cluster is read: a live API server, or the files of a bundle.

The port through which a cluster is changed: one named object at a time, every request tied to a reading.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from migrations_app.actions.changes import Change, ObjectTarget, RbacNeed
from migrations_app.actions.conditions import Tree
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion
from migrations_app.errors import InvalidResponse
from migrations_app.inventory.objects.karpenter import ServedResource

Verb = Literal["get", "list", "create", "patch", "delete"]

_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
LONGEST_PATH = 2048


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """`plural` is empty for documents such as /version, which RBAC knows as nonResourceURLs."""

    verb: Verb
    path: str
    group: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def what(self) -> str:
        """Such as `nodepools.karpenter.sh` or `pods in kube-system`."""
        if not self.plural:
            return self.path
        full = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{full} in {self.namespace}" if self.namespace else full

    @property
    def rule(self) -> str:
        """The RBAC rule that allows it, as one line of YAML."""
        if not self.plural:
            return f'{{nonResourceURLs: ["{self.path}"], verbs: ["{self.verb}"]}}'
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.plural}"], verbs: ["{self.verb}"]}}'


def api_request(verb: Verb, path: str) -> ApiRequest:
    """The request in words. Raises Garbled when the path is not one of an API server (K13)."""
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
    """The segments of the path, none of them empty, `.` or `..`. Raises Garbled with code `bad_path`."""
    parts = path[1:].split("/")
    odd = not path.startswith("/") or len(path) > LONGEST_PATH
    if odd or any(not _SEGMENT.fullmatch(part) for part in parts):
        raise InvalidResponse("a name in the path is not one of Kubernetes", code="bad_path")
    return parts


@dataclass(frozen=True, slots=True)
class Resource:
    """What to list. The core group is the empty string. `namespace` narrows the list to one namespace."""

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
    """One page of a list: each item still undecoded JSON."""

    items: list[msgspec.Raw]
    resource_version: str = ""
    bytes_read: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """What may be listed. `failed` maps a group/version whose discovery failed to the reason code."""

    resources: tuple[ServedResource, ...]
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """`server_date` is the Date header of the newest answer, as 2026-01-02T03:04:05Z; of a bundle, when it was made."""

    server_date: str | None = None
    requests: int = 0
    bytes_read: int = field(default=0)
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Requests by RBAC verb and HTTP status; the status is `none` where no answer came."""
    documents: int = 0
    passed_over: int = 0
    """Of a bundle: the documents that it holds, and how many of them say no kind, so that no list has them."""


class ClusterApi(Protocol):
    """Reads of one cluster. Every failure is an errors.CouldNotLook; a list that nobody serves raises NotServed."""

    def get(self, path: str) -> bytes:
        """The body of one object or document, such as /version or /apis; at most 64 MiB."""

    def served(self) -> Served:
        """Every listable resource with its versions; of a bundle, those of the objects that it holds."""

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        """All pages of a list under one resource version. Raises Expired when that cannot be kept: start anew."""

    def clock(self) -> Clock:
        """What was read so far, and the server's idea of the time."""

    def close(self) -> None:
        """Ends connections and drops credentials from memory; harmless when called twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What the server answered to one request. `conflict` names the managers of a refused server-side apply."""

    status: int
    reason: str = ""
    message: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    object: Tree | None = None
    conflicts: tuple[str, ...] = ()
    retry_after: float | None = None

    @property
    def done(self) -> bool:
        return 200 <= self.status < 300

    @property
    def in_doubt(self) -> bool:
        """The server failed while it worked on it: whether anything happened has to be read (A22)."""
        return self.status >= 500 or self.status == 408


class Writer(Protocol):
    """Changes of one cluster, as one identity. `purpose` stands in the User-Agent: `action=<id> step=<n>` (K16)."""

    def identity(self) -> ClusterIdentity:
        """Which cluster this is (A05). Raises CouldNotLook."""

    def read(self, target: ObjectTarget) -> Tree | None:
        """The object as it is; None when there is none. Raises CouldNotLook when that cannot be told."""

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        """All pages of a list, as ClusterApi gives them: for the picture of the cluster. Raises CouldNotLook."""

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        """Whether these credentials may do that, as the server judges it (A26); without a name, to every object.

        Raises CouldNotLook.
        """

    def dry_run(self, change: Change, tie: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        """The answer to the request with nothing kept (K14). Raises CouldNotLook when there is no answer."""

    def send(self, change: Change, tie: ObjectVersion, *, own: dict[str, str], purpose: str) -> WriteResult:
        """The answer to the request, sent once and never again (A20). Raises CouldNotLook when there is no answer."""

    def close(self) -> None:
        """Ends connections and drops credentials from memory; harmless when called twice."""
