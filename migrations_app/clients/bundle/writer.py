"""Writes a bundle: records what is read through a ClusterApi, redacts it, and notes what could not be read.

The recording is itself a ClusterApi, so a scan that runs over it requests exactly what the bundle will contain.
"""

import io
import tarfile
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from migrations_app.clients.bundle import bundle
from migrations_app.clients.bundle.bundle import SCHEMA, VERSION_NAME, BundleManifest, RequestedPart
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.kubernetes.api import Clock, ClusterApi, ListPage, Resource, Served
from migrations_app.clients.kubernetes.limits import MIB
from migrations_app.errors import ReadError

_CHUNK = 4 * MIB
"""Half of what a reader accepts in one archive member."""


@dataclass(slots=True)
class _ListWriter:
    """The compressed chunks of one list: dumps shrink to a tenth and stay in memory until the list is complete."""

    resource: Resource
    chunks: list[bytes] = field(default_factory=list)
    count: int = 0
    broken: int = 0
    kind: str = "List"
    _waiting: list[bytes] = field(default_factory=list)
    _size: int = 0

    def take(self, page: ListPage) -> None:
        self.kind = page.kind or "List"
        for raw in page.items:
            self._take(raw)

    def _take(self, raw: msgspec.Raw) -> None:
        try:
            redacted = redacted_object(raw, group=self.resource.group, plural=self.resource.plural)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self.broken += 1
            return
        if redacted is None:
            return
        self.count += 1
        self._waiting.append(msgspec.json.encode(redacted))
        self._size += len(self._waiting[-1])
        if self._size >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            version = "v1" if self.kind == "List" else self.resource.group_version
            head = msgspec.json.encode({"apiVersion": version, "kind": self.kind})[:-1]
            body = b"".join((head, b',"items":[', b",\n".join(self._waiting), b"]}"))
            self.chunks.append(zlib.compress(body, 1))
            self._waiting, self._size = [], 0


class Recording:
    """A ClusterApi that forwards every request and keeps the results for `write`."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._version = b""
        self._served: Served | None = None
        self._lists: dict[Resource, tuple[RequestedPart, _ListWriter]] = {}

    def get(self, path: str) -> bytes:
        body = self._api.get(path)
        if path == "/version":
            self._version = body
        return body

    def served(self) -> Served:
        self._served = self._api.served()
        return self._served

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        if self._is_covered(resource):
            yield from self._api.pages(resource)
            return
        list_writer = _ListWriter(resource)
        part = _part(list_writer, why="timeout", detail="the list was not read to its end")
        try:
            for page in self._api.pages(resource):
                list_writer.take(page)
                yield page
            list_writer.flush()
            part = _part(list_writer)
        except ReadError as reason:
            part = _part(list_writer, why=reason.code, detail=reason.message)
            raise
        finally:
            with self._lock:
                self._lists[resource] = part, list_writer

    def clock(self) -> Clock:
        return self._api.clock()

    def close(self) -> None:
        self._api.close()

    def write(self, out: BinaryIO, *, made_at: str, made_by: str) -> BundleManifest:
        """Writes the .tar.gz and returns its manifest. Lists that were not read to the end are left out."""
        manifest = BundleManifest(
            schema=SCHEMA,
            made_at=made_at,
            made_by=made_by,
            asked=[part for part, _ in self._lists.values()],
            served=list(self._served.resources) if self._served else None,
            failed=dict(self._served.failed) if self._served else {},
        )
        with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as archive:
            _add(archive, bundle.NAME, body=msgspec.json.format(msgspec.json.encode(manifest), indent=1))
            if self._version:
                _add(archive, VERSION_NAME, body=self._version)
            for number, (part, list_writer) in enumerate(self._lists.values()):
                if part.seen:
                    _add_list(archive, number, list_writer=list_writer)
        return manifest

    def _is_covered(self, resource: Resource) -> bool:
        with self._lock:
            covering = [part for part, _ in self._lists.values() if part.seen and part.covers(resource)]
            return any(part.version == resource.version for part in covering)


def _part(list_writer: _ListWriter, *, why: str = "", detail: str = "") -> RequestedPart:
    resource = list_writer.resource
    return RequestedPart(
        group=resource.group,
        plural=resource.plural,
        version=resource.version,
        namespace=resource.namespace,
        label_selector=resource.label_selector,
        field_selector=resource.field_selector,
        seen=not why,
        why=why,
        detail=detail[:500],
        count=list_writer.count,
    )


def _add_list(archive: tarfile.TarFile, number: int, *, list_writer: _ListWriter) -> None:
    group = f".{list_writer.resource.group}" if list_writer.resource.group else ""
    for chunk, packed in enumerate(list_writer.chunks):
        _add(
            archive,
            f"objects/{number:03}-{list_writer.resource.plural}{group}-{chunk:04}.json",
            body=zlib.decompress(packed),
        )


def _add(archive: tarfile.TarFile, name: str, *, body: bytes) -> None:
    member = tarfile.TarInfo(name[-100:])
    member.size, member.mode = len(body), 0o644
    archive.addfile(member, io.BytesIO(body))
