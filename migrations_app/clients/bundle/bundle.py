"""A bundle as a ClusterApi: reads kubectl dumps, or the output of `karpdash bundle`, from files.

manifest.json lists what was requested, and what could not be read and why. Without a manifest, a dump with Nodes and
Pods counts as a dump of the whole cluster. So does a manifest with `whole`; `asked` lists its exceptions. What a
bundle does not contain is Unseen.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from migrations_app import errors
from migrations_app.clients.bundle.documents import documents
from migrations_app.clients.bundle.files import DIRECT, UPLOAD, BundleLimits, Source, files
from migrations_app.clients.bundle.index import Index, ListPlace, is_built_in, pages_of
from migrations_app.clients.kubernetes.api import Clock, ListPage, Resource, Served, api_request
from migrations_app.errors import InvalidBundle, NotCollected, NotServed, ReadError
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.karpenter import kinds

NAME = "manifest.json"
SCHEMA = "karpdash/bundle/v1"


class RequestedPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One requested list. If it was not read, `why` is the code of the errors.ReadError."""

    group: str
    plural: str
    version: str = ""
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    seen: bool = True
    why: str = ""
    detail: str = ""
    count: int = 0

    def covers(self, resource: Resource) -> bool:
        """Whether this list contains the answer to a request for `resource`."""
        return (self.group, self.plural) == (resource.group, resource.plural) and all(
            part_value in ("", resource_value)
            for part_value, resource_value in (
                (self.namespace, resource.namespace),
                (self.label_selector, resource.label_selector),
                (self.field_selector, resource.field_selector),
            )
        )


class BundleManifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    schema: str
    made_at: str = ""
    made_by: str = ""
    whole: bool = False
    asked: list[RequestedPart] = []
    served: list[ServedResource] | None = None
    failed: dict[str, str] = {}

    def part(self, resource: Resource) -> RequestedPart | None:
        """The entry that covers this resource; one of its version is preferred, then one that was read. None if there
        is none.

        A list may have failed in one version and answered in another.
        """
        covering = (part for part in self.asked if part.covers(resource))
        parts = sorted(covering, key=lambda part: (part.version not in ("", resource.version), not part.seen))
        return parts[0] if parts else None


def read_manifest(body: bytes) -> BundleManifest:
    """The decoded manifest. Raises InvalidBundle with code `bad_manifest_file`."""
    try:
        manifest = msgspec.json.decode(body, type=BundleManifest)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidBundle(
            f"not a bundle's manifest: {str(error)[:200]}", code="bad_manifest_file", where=NAME
        ) from None
    if manifest.schema != SCHEMA:
        raise InvalidBundle(
            f"made for another release of karpdash: {SCHEMA} is read here", code="bad_manifest_file", where=NAME
        )
    return manifest


def unseen(part: RequestedPart) -> ReadError:
    """The error that occurred when the bundle was made."""
    kinds = [getattr(errors, name) for name in dir(errors) if not name.startswith("_")]
    kinds_by_code = {kind.code: kind for kind in kinds if isinstance(kind, type) and issubclass(kind, ReadError)}
    detail = part.detail[:500] or "could not be read when the bundle was made"
    return kinds_by_code.get(part.why, ReadError)(detail, code=part.why[:60] or "could_not_look")


VERSION_NAME = "version.json"
IAM_FOLDER = "iam"
_CRDS = (kinds.CRD.group, kinds.CRD.plural)
_ALWAYS_SOME = frozenset(
    (kind.group, kind.plural)
    # People often leave Secrets out of a dump on purpose.
    for kind in (kinds.CRD, kinds.DEPLOYMENT, kinds.SERVICE, kinds.ENDPOINTS, kinds.SECRET, kinds.NAMESPACE)
)
_OF_KARPENTER = frozenset((kind.group, kind.plural) for kind in kinds.KARPENTER_KINDS)


class _ServerVersionDocument(msgspec.Struct, frozen=True, rename="camel"):
    """The response of GET /version, or the output of `kubectl version -o json` that contains it."""

    git_version: str = ""
    server_version: msgspec.Raw = msgspec.Raw(b"")


class Bundle:
    """A ClusterApi over objects in memory. `odd` and `repeated` count the objects that were skipped."""

    def __init__(
        self, index: Index, *, manifest: BundleManifest | None, version: bytes, iam: Mapping[str, bytes]
    ) -> None:
        self._index = index
        self._manifest = manifest
        self._version = version
        self._iam = dict(iam)
        self._read = 0
        dump = all((kind.group, kind.plural) in index.places for kind in (kinds.NODE, kinds.POD))
        self._whole = manifest.whole if manifest else dump

    @property
    def odd(self) -> int:
        """Number of documents that have no kind."""
        return self._index.odd

    @property
    def repeated(self) -> int:
        """Number of objects found in more than one file; the first one is used."""
        return self._index.repeated

    def get(self, path: str) -> bytes:
        if path == "/version":
            if not self._version:
                raise NotCollected(f"the bundle holds no {VERSION_NAME}")
            return self._version
        request = api_request("get", path)
        place = self._index.places.get((request.group, request.plural), {})
        bundle = place.get((request.namespace, request.name))
        if bundle is not None:
            return bytes(bundle.raw)
        self._check(Resource(request.group, "", request.plural, request.namespace))
        raise NotServed(f"there is no {request.name} among {request.what}", code="absent")

    def served(self) -> Served:
        manifest = self._manifest
        if manifest is not None and manifest.served is not None:
            return Served(tuple(manifest.served), dict(manifest.failed))
        return Served(tuple(self._index.served()))

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        self._check(resource)
        for items in pages_of(self._index.find(resource), resource.page_size):
            size = sum(len(memoryview(item)) for item in items)
            self._read += size
            yield ListPage(items, "", size)

    def clock(self) -> Clock:
        """The time at which the bundle was made, if known; otherwise the newest time that its objects show.

        A dump is often evaluated long after it was made: by the current time every node in it would have expired.
        """
        made_at = self._manifest.made_at if self._manifest else ""
        heard = made_at or self._index.newest_moment() or None
        return Clock(heard, 0, self._read, documents=self._index.count + self.odd, passed_over=self.odd)

    def close(self) -> None:
        self._index = Index()

    def iam_documents(self) -> dict[str, bytes]:
        """The policy documents in the folder `iam`, by file name."""
        return dict(self._iam)

    def _check(self, resource: Resource) -> None:
        """Returns if the bundle can answer a request for that list. Raises ReadError otherwise."""
        part = self._manifest.part(resource) if self._manifest else None
        place = (resource.group, resource.plural)
        if part is not None:
            if not part.seen:
                raise unseen(part)
            return
        if self._manifest is not None and not self._whole:
            raise NotCollected(f"{resource.plural} were not requested when the bundle was taken")
        if place in self._index.places:
            return
        if not self._whole or (self._manifest is None and self._left_out(place)):
            raise NotCollected(f"the bundle does not hold {resource.plural}")
        if not is_built_in(resource.group) and place not in {(r.group, r.plural) for r in self.served().resources}:
            raise NotServed(f"nothing in the bundle shows that {resource.plural} are served")

    def _left_out(self, place: ListPlace) -> bool:
        """Whether the absence of this kind in a dump of the whole cluster proves nothing, because it was probably not
        requested.

        A cluster with Karpenter has some objects of the kinds in _ALWAYS_SOME; Karpenter's own kinds are requested
        together.
        """
        dumped = self._index.places.keys()
        if place in _OF_KARPENTER:
            return _CRDS not in dumped or not dumped & _OF_KARPENTER
        return place in _ALWAYS_SOME


def open_bundle(source: Source, *, limits: BundleLimits | None = None) -> Bundle:
    """Reads the whole bundle into memory. Raises InvalidBundle; `where` names the file and, if known, the line.

    `source`: a path, the bytes of an upload, or files by name. Bytes are limited by UPLOAD, everything else by
    DIRECT.
    """
    bundle_limits = limits or (UPLOAD if isinstance(source, bytes) else DIRECT)
    reader = _BundleReader(bundle_limits)
    for name, body in files(source, bundle_limits):
        reader.take(name, body)
    return reader.bundle()


class _BundleReader:
    def __init__(self, limits: BundleLimits) -> None:
        self._limits = limits
        self._index = Index()
        self._manifest: BundleManifest | None = None
        self._version = b""
        self._iam: dict[str, bytes] = {}
        self._documents = 0
        """All that were read: those without a kind, and repeated objects, take time too."""

    def take(self, name: str, body: bytes) -> None:
        path = PurePosixPath(name)
        if path.parent.name == IAM_FOLDER and path.suffix == ".json":
            self._iam[path.name] = body
        elif path.name == VERSION_NAME:
            self._version = _server_version(body, name)
        elif path.name == NAME:
            self._manifest = read_manifest(body)
        else:
            self._objects(name, body)

    def _objects(self, name: str, body: bytes) -> None:
        for document in documents(body, name=name, limits=self._limits):
            self._index.add(document)
            self._documents += 1
            if self._documents > self._limits.objects:
                raise InvalidBundle(f"more than {self._limits.objects} objects", code="bundle_objects", where=name)
            if self._index.odd > self._limits.kindless:
                words = f"more than {self._limits.kindless} documents without a kind"
                raise InvalidBundle(words, code="bundle_objects", where=name)

    def bundle(self) -> Bundle:
        self._index.settle()
        if not self._index.places and self._manifest is None:
            raise InvalidBundle("no Kubernetes objects found", code="bundle_empty")
        return Bundle(self._index, manifest=self._manifest, version=self._version, iam=self._iam)


def _server_version(body: bytes, name: str) -> bytes:
    try:
        document = msgspec.json.decode(body, type=_ServerVersionDocument)
        inner = bytes(document.server_version)
        if inner:
            msgspec.json.decode(inner, type=_ServerVersionDocument)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidBundle("not an answer of GET /version", code="bad_version_file", where=name) from None
    return inner or body
