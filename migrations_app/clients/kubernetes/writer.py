"""Writer over a live API server: changes one named object at a time, sends each request once, never uses lists or
patterns.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from migrations_app.actions.changes import FIELD_MANAGER, ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion, request_body
from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.kubernetes.api import ListPage, Resource, WriteResult
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.limits import DEFAULT, ClientLimits
from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.clients.kubernetes.round_tripper import RoundTripper
from migrations_app.clients.kubernetes.transport import TokenSource, Transport, WriteResponse
from migrations_app.clients.secret import clean
from migrations_app.errors import InvalidInput, InvalidResponse, NotServed
from migrations_app.manifests import JsonMap

KUBE_SYSTEM = ObjectTarget("", "v1", "namespaces", "Namespace", "kube-system")
UNTOUCHABLE = frozenset({"namespaces"})
"""Plurals of kinds that karpdash never deletes (T18)."""
_MANAGER = re.compile(r'conflict with "([^"]{1,128})"')


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _WriteStatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: int | None = None


class _WriteStatus(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    details: _WriteStatusDetails | None = None


class LiveWriter:
    """A Writer over a live server; handles one request at a time."""

    def __init__(self, transport: Transport, connection: Connection, *, limits: ClientLimits) -> None:
        self._transport = transport
        self._connection = connection
        self._reads = LiveApi(transport, limits)

    def identity(self) -> ClusterIdentity:
        namespace = self.read(KUBE_SYSTEM)
        uid = value_at(namespace, ("metadata", "uid"))
        if not isinstance(uid, str) or not uid:
            raise InvalidResponse("the cluster has no namespace kube-system")
        return ClusterIdentity(kube_system_uid=uid, ca=self._transport.ca_digest, endpoint=self._connection.server.url)

    def read(self, target: ObjectTarget) -> JsonMap | None:
        try:
            body = self._transport.get(target.path).body
        except NotServed as absent:
            if absent.code == "absent":
                return None
            raise
        document = _tree(bytes(body))
        if document is None:
            raise InvalidResponse(f"{target.display_name} is not a valid answer of an API server")
        return document

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        return self._reads.pages(resource)

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        return self._reads.access_review(
            need.verb,
            group=need.group,
            plural=need.plural,
            subresource=need.subresource,
            namespace=namespace,
            name=name,
        )

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self._send_change(change, object_version, own=own, dry=True, purpose=f"dry-run {change.verb}")

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        return self._send_change(change, object_version, own=own, dry=False, purpose=purpose)

    def calls(self) -> Mapping[tuple[str, str], int]:
        return dict(self._transport.meter.calls)

    def close(self) -> None:
        self._transport.close()

    def _send_change(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], dry: bool, purpose: str
    ) -> WriteResult:
        body, query = request_content(change, object_version, own=own, dry=dry)
        response = self._transport.send_once(
            change.method, change.path, query=query, body=body, content_type=change.content_type, purpose=purpose
        )
        return write_result(response)


def request_content(
    change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], dry: bool
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The body and the query of the request. Raises InvalidInput for a deletion that is never sent."""
    body = request_body(change, object_version, own=own)
    query = [("fieldManager", FIELD_MANAGER)] if change.verb != "delete" else []
    if change.verb == "apply":
        query.append(("force", "false"))
    if change.verb == "delete":
        _refuse_deletion(change.target)
    return as_dry_run(change.method, body, query=query) if dry else (body, query)


def as_dry_run(method: str, body: dict[str, Any], *, query: list[tuple[str, str]]) -> tuple[dict[str, Any], list[Any]]:
    """The same request as a dry run (K14). For DELETE the option goes into the body, because the server then ignores
    the query; for all other methods into the query, because objects have no such field.
    """
    if method == "DELETE":
        return body | {"dryRun": ["All"]}, query
    return body, [*query, ("dryRun", "All")]


def _refuse_deletion(target: ObjectTarget) -> None:
    """Raises InvalidInput unless the deletion names one object that is not a namespace (K13, T18)."""
    if target.plural in UNTOUCHABLE or not target.name:
        raise InvalidInput(f"{target.display_name} is never deleted", code="bad_name", where="target")


def write_result(response: WriteResponse) -> WriteResult:
    """The result of a request, from the server's response."""
    document = _tree(response.body)
    if 200 <= response.status < 300:
        return WriteResult(
            status=response.status,
            audit_id=response.audit_id,
            uid=_text(document, "uid"),
            resource_version=_text(document, "resourceVersion"),
            object=document,
        )
    error_status = _status(response.body)
    details = error_status.details or _WriteStatusDetails()
    conflict_messages = [cause.message for cause in details.causes or () if cause.reason == "FieldManagerConflict"]
    managers = {name for message in conflict_messages for name in _MANAGER.findall(message)}
    after = response.retry_after if response.retry_after is not None else details.retry_after_seconds
    return WriteResult(
        status=response.status,
        reason=clean(error_status.reason)[:100],
        message=clean(error_status.message)[:1500],
        audit_id=response.audit_id,
        conflicts=tuple(sorted(clean(name) for name in managers)),
        retry_after=float(after) if after is not None else None,
    )


def _text(document: JsonMap | None, name: str) -> str:
    # A DELETE of an object without finalizers returns a Status whose details contain the uid.
    text = value_at(document, ("metadata", name)) or value_at(document, ("details", name))
    return text if isinstance(text, str) else ""


def _tree(body: bytes) -> JsonMap | None:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return document if isinstance(document, dict) else None


def _status(body: bytes) -> _WriteStatus:
    try:
        return msgspec.json.decode(body, type=_WriteStatus)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _WriteStatus()


def open_writer(
    connection: Connection,
    *,
    reach: OutboundPolicy,
    limits: ClientLimits = DEFAULT,
    token: TokenSource | None = None,
    resolver: Resolver = ask_resolver,
    round_tripper: RoundTripper | None = None,
) -> LiveWriter:
    """A writer for that server, as `open_live`. No request is sent yet. Raises ReadError."""
    transport = Transport(
        connection,
        reach=reach,
        limits=limits,
        token=token,
        resolver=resolver,
        purpose="action",
        round_tripper=round_tripper,
    )
    return LiveWriter(transport, connection, limits=limits)
