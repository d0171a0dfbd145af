"""The port through which a cluster is read: a live API server, or the files of a bundle."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from migrations_app.inventory.objects import ServedResource


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
class Page:
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

    def pages(self, resource: Resource) -> Iterator[Page]:
        """All pages of a list under one resource version. Raises Expired when that cannot be kept: start anew."""

    def clock(self) -> Clock:
        """What was read so far, and the server's idea of the time."""

    def close(self) -> None:
        """Ends connections and drops credentials from memory; harmless when called twice."""
