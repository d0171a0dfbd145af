"""ClusterApi over a live API server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Self, TypeAlias

import msgspec

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.kubernetes import discovery, watching
from migrations_app.clients.kubernetes.api import Clock, ListPage, Resource, Served
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.limits import DEFAULT, MIB, ClientLimits
from migrations_app.clients.kubernetes.round_tripper import RoundTripper
from migrations_app.clients.kubernetes.salvage import parsable_items
from migrations_app.clients.kubernetes.transport import JSON, TokenSource, Transport
from migrations_app.errors import Expired, InvalidResponse, TooLarge
from migrations_app.karpenter import kinds

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SHRINK = 8
_MAX_SPLIT = 8 * MIB
"""A page that cannot be decoded is split into its objects in Python, some seconds for so many bytes."""
_DISCOVERY_TRIES = 2
"""A group behind a failed extension API server always answers 503; the other groups should not wait for it."""


class _ListMetadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    token: str = msgspec.field(default="", name="continue")
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")


class _ListPage(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")
    items: list[msgspec.Raw] | None = None


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


_lists = msgspec.json.Decoder(_ListPage)
_reviews = msgspec.json.Decoder(_Review)
_LIST_KINDS = {(kind.group, kind.plural): f"{kind.kind}List" for kind in kinds.KINDS}
_ANY_KIND = ("", "List")


@dataclass(slots=True)
class _Pagination:
    """The continue tokens and the resource version of a list that is read page by page."""

    most: int
    count: int = 0
    version: str = ""
    tokens: set[str] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    """The first and the last object of each page, by their digests."""

    def follow(self, page: _ListPage) -> str:
        """The token of the next page; empty after the last page.

        Raises Expired; InvalidResponse for a list that is endless, repeats a page, or ends too early.
        """
        metadata = page.metadata
        if self.count and metadata.resource_version != self.version:
            raise Expired("the server changed the list's version between pages")
        self.count, self.version = self.count + 1, metadata.resource_version
        if metadata.token in self.tokens:
            raise InvalidResponse("the server gives the same page again and again", code="endless_list")
        if metadata.token and self.count >= self.most:
            raise InvalidResponse(f"the list does not end after {self.most} pages", code="endless_list")
        if not metadata.token and (metadata.remaining or 0) > 0:
            raise InvalidResponse("the server says that more objects remain, but gives no way to read them")
        self._check_edges(page.items or [])
        self.tokens.add(metadata.token)
        return metadata.token

    def _check_edges(self, items: list[msgspec.Raw]) -> None:
        """Refuses a page whose first or last object was already the first or last one of another page."""
        edges = {hash(bytes(item)) for item in (*items[:1], *items[-1:])}
        if edges & self.edges:
            raise InvalidResponse("the server lists the same objects again", code="listed_twice")
        self.edges |= edges


PageBody: TypeAlias = tuple[bytearray, int]


class _Prefetch:
    """Reads one page in a background thread. On exit an unfinished read is not awaited; it runs into
    its own deadline.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="page")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def begin(self, read: Callable[[], PageBody], *, at_once: bool) -> Callable[[], PageBody]:
        """A function that returns the body: the read starts now if `at_once`, otherwise when the function is called."""
        return self._pool.submit(read).result if at_once else read


class LiveApi:
    """A ClusterApi over a live server. Thread-safe."""

    def __init__(self, transport: Transport, limits: ClientLimits) -> None:
        self._transport = transport
        self._limits = limits

    @property
    def ca_digest(self) -> str:
        """SHA-256 of the CA that has to have signed the server's certificate."""
        return self._transport.ca_digest

    def get(self, path: str) -> bytes:
        return bytes(self._transport.get(path).body)

    def served(self) -> Served:
        return discovery.served(
            lambda path, accept: self._transport.get(path, accept=accept, tries=_DISCOVERY_TRIES).body
        )

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        # The next page is read while the caller processes this one, so server and client work in parallel.
        with _Prefetch() as prefetch:
            pagination = _Pagination(self._limits.pages)
            token = ""
            body, size = self._page(resource, token, size=resource.page_size)
            while True:
                list_page, size = self._decodable(body, resource, token=token, size=size)
                self._transport.meter.take_objects(len(list_page.items or ()))
                token = pagination.follow(list_page)
                read = partial(self._page, resource, token, size=size)
                next_page = prefetch.begin(read, at_once=bool(token) and len(body) <= self._limits.ahead_bytes)
                yield ListPage(list_page.items or [], list_page.metadata.resource_version, len(body), list_page.kind)
                if not token:
                    return
                body, size = next_page()

    def is_unchanged(self, resource: Resource, *, since: str, count: int, seconds: int) -> bool:
        return watching.is_unchanged(self._transport, resource, since=since, count=count, seconds=seconds)

    def clock(self) -> Clock:
        meter = self._transport.meter
        return Clock(meter.server_date, meter.requests, meter.total, dict(meter.calls))

    def close(self) -> None:
        self._transport.close()

    def access_review(
        self, verb: str, *, group: str, plural: str, subresource: str = "", namespace: str = "", name: str = ""
    ) -> bool:
        """Whether the server grants these credentials the permission; without namespace or name, everywhere."""
        place = {"namespace": namespace, "name": name, "subresource": subresource}
        attributes = {"verb": verb, "group": group, "resource": plural, **place}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }
        try:
            return _reviews.decode(self._transport.post(_REVIEW, body).body).status.allowed
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise InvalidResponse("the server's access review is not a valid answer of an API server") from None

    def _decodable(self, body: bytearray, resource: Resource, *, token: str, size: int) -> tuple[_ListPage, int]:
        """The decoded page and its size: if it is too large to be split, it is requested in smaller ones."""
        while True:
            try:
                return _decoded(body, resource), size
            except TooLarge:
                if size <= self._limits.smallest_page:
                    raise
            body, size = self._page(resource, token, size=max(self._limits.smallest_page, size // _SHRINK))

    def _page(self, resource: Resource, token: str, *, size: int) -> PageBody:
        """The body of one page and the page size used: if a page is too large, it is requested in smaller ones."""
        while True:
            try:
                answer = self._transport.get(
                    resource.path, _query(resource, token, size=size), verb="list", accept=JSON
                )
            except TooLarge as reason:
                if size <= self._limits.smallest_page or reason.code == "scan_too_large":
                    raise
                size = max(self._limits.smallest_page, size // _SHRINK)
            else:
                return answer.body, size


def _query(resource: Resource, token: str, *, size: int) -> list[tuple[str, str]]:
    pairs = [
        ("limit", str(size)),
        ("continue", token),
        ("labelSelector", resource.label_selector),
        ("fieldSelector", resource.field_selector),
    ]
    return [(key, value) for key, value in pairs if value]


def _decoded(body: bytearray, resource: Resource) -> _ListPage:
    try:
        list_page = _decoded_or_salvaged(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse(f"the list of {resource.plural} is not a valid answer of an API server") from None
    if list_page.items is None and not list_page.kind.endswith("List"):
        raise InvalidResponse(f"the list of {resource.plural} has no items")
    expected = _LIST_KINDS.get((resource.group, resource.plural), list_page.kind)
    if list_page.kind not in (*_ANY_KIND, expected) or list_page.api_version not in ("", resource.group_version):
        raise InvalidResponse(f"the server's answer is not the requested list of {resource.plural}")
    return list_page


def _decoded_or_salvaged(body: bytearray) -> _ListPage:
    try:
        return _lists.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        if len(body) > _MAX_SPLIT:
            raise TooLarge("the answer cannot be decoded, and is too large to be split into its objects") from None
        parts = parsable_items(body)
        if parts is None:
            raise
    shell, items = parts
    return msgspec.structs.replace(_lists.decode(shell), items=items)


def open_live(
    connection: Connection,
    *,
    reach: OutboundPolicy,
    limits: ClientLimits = DEFAULT,
    token: TokenSource | None = None,
    resolver: Resolver = ask_resolver,
    round_tripper: RoundTripper | None = None,
) -> LiveApi:
    """A client of that server. Its name is resolved and checked now; no request is sent yet. Raises ReadError.

    `token` supplies the credentials for each call and replaces those of the connection; `round_tripper`
    replaces its address.
    """
    transport = Transport(
        connection, reach=reach, limits=limits, token=token, resolver=resolver, round_tripper=round_tripper
    )
    return LiveApi(transport, limits)
