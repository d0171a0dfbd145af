"""The port over a live API server."""

from collections.abc import Iterator

import msgspec

from migrations_app.clients import discovery
from migrations_app.clients.addresses import Reach, Resolver, ask_resolver
from migrations_app.clients.connection import Connection
from migrations_app.clients.limits import DEFAULT, Limits
from migrations_app.clients.port import Clock, Page, Resource, Served
from migrations_app.clients.salvage import salvaged
from migrations_app.clients.transport import JSON, TokenSource, Transport
from migrations_app.errors import Expired, Garbled, TooLarge

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SHRINK = 8
_DISCOVERY_TRIES = 2
"""A group behind a dead extension server answers 503 for ever; the others should not wait for it."""


class _ListMetadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    token: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


_lists = msgspec.json.Decoder(_List)
_reviews = msgspec.json.Decoder(_Review)


class LiveApi:
    """A ClusterApi; its methods may be called from several threads."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits

    def get(self, path: str) -> bytes:
        return bytes(self._transport.get(path).body)

    def served(self) -> Served:
        return discovery.served(
            lambda path, accept: self._transport.get(path, accept=accept, tries=_DISCOVERY_TRIES).body
        )

    def pages(self, resource: Resource) -> Iterator[Page]:
        token, version, size = "", "", resource.page_size
        tokens: set[str] = set()
        for _ in range(self._limits.pages):
            body, size = self._page(resource, token, size=size)
            found = _decoded(body, resource)
            if token and found.metadata.resource_version != version:
                raise Expired("the server changed the list's version between pages")
            version, token = found.metadata.resource_version, found.metadata.token
            yield Page(found.items or [], version, len(body), found.kind)
            if not token:
                return
            if token in tokens:
                raise Garbled("the server gives the same page again and again", code="endless_list")
            tokens.add(token)
        raise Garbled(f"the list does not end after {self._limits.pages} pages", code="endless_list")

    def clock(self) -> Clock:
        meter = self._transport.meter
        return Clock(meter.server_date, meter.requests, meter.total)

    def close(self) -> None:
        self._transport.close()

    def access_review(self, verb: str, *, group: str, plural: str, namespace: str = "") -> bool:
        """Whether these credentials may do that, as the server judges it; an empty namespace means everywhere."""
        attributes = {"verb": verb, "group": group, "resource": plural, "namespace": namespace}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }
        try:
            return _reviews.decode(self._transport.post(_REVIEW, body).body).status.allowed
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise Garbled("the server's access review is not what an API server answers") from None

    def _page(self, resource: Resource, token: str, *, size: int) -> tuple[bytearray, int]:
        """One page's body and the size it was asked in: objects too large for one page come in smaller ones."""
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


def _decoded(body: bytearray, resource: Resource) -> _List:
    try:
        found = _decoded_or_salvaged(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Garbled(f"the list of {resource.plural} is not what an API server answers") from None
    if found.items is None and not found.kind.endswith("List"):
        raise Garbled(f"the list of {resource.plural} holds no items")
    return found


def _decoded_or_salvaged(body: bytearray) -> _List:
    try:
        return _lists.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        parts = salvaged(body)
        if parts is None:
            raise
    shell, items = parts
    return msgspec.structs.replace(_lists.decode(shell), items=items)


def open_live(
    connection: Connection,
    *,
    reach: Reach,
    limits: Limits = DEFAULT,
    token: TokenSource | None = None,
    resolver: Resolver = ask_resolver,
) -> LiveApi:
    """A client of that server; its name is resolved and judged now, nothing is sent yet. Raises CouldNotLook.

    `token` makes credentials anew for each call and takes the place of the connection's own.
    """
    return LiveApi(Transport(connection, reach=reach, limits=limits, token=token, resolver=resolver), limits)
