"""Connection test: whether an API server answers, and which kinds the credentials may not list. Stores nothing."""

from contextlib import closing
from dataclasses import dataclass

import msgspec

from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.clients.kubernetes.transport import TokenSource
from migrations_app.clients.kubernetes.writer import KUBE_SYSTEM
from migrations_app.collect.reading import HOME_NAMESPACES
from migrations_app.errors import KarpdashError, ReadError
from migrations_app.inventory.objects.karpenter import ServerVersion
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.readiness.rbac.roles import SCANNED_KINDS, MissingPermission, scan_roles
from migrations_app.use_cases.runtime.connections import limits, network_policy


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """Result of a connection test. If nothing could be read, `error` is a code and `detail` its text."""

    reachable: bool
    server: str = ""
    kubernetes: str = ""
    missing: tuple[MissingPermission, ...] = ()
    rule: str = ""
    error: str = ""
    detail: str = ""


def check_server(connection: Connection, *, token: TokenSource | None = None) -> ConnectionTest:
    """Opens the server and tests it. A failure is returned, not raised."""
    url = connection.server.url
    try:
        with closing(open_live(connection, reach=network_policy(), limits=limits(), token=token)) as api:
            return check_client(api, url)
    except ReadError as reason:
        return failed(reason, server=url)


def check_client(api: LiveApi, url: str) -> ConnectionTest:
    """Tests an open client: the version, and the missing rights to read the cluster and its identity.

    Raises ReadError.
    """
    version = msgspec.json.decode(api.get("/version"), type=ServerVersion)
    missing = tuple(MissingPermission(kind.group, kind.plural) for kind in SCANNED_KINDS if not _may_list(api, kind))
    if not api.access_review("get", group="", plural=KUBE_SYSTEM.plural, name=KUBE_SYSTEM.name):
        missing = (*missing, MissingPermission("", KUBE_SYSTEM.plural, verb="get", name=KUBE_SYSTEM.name))
    return ConnectionTest(
        reachable=True, server=url, kubernetes=version.git_version, missing=missing, rule=scan_roles(missing)
    )


def _may_list(api: LiveApi, kind: Kind) -> bool:
    """Whether the kind may be listed. Secrets are only read in Karpenter's namespaces, so the right in one of these is
    enough.
    """
    places = ("", *HOME_NAMESPACES) if kind is kinds.SECRET else ("",)
    return any(api.access_review("list", group=kind.group, plural=kind.plural, namespace=place) for place in places)


def failed(reason: KarpdashError, *, server: str = "") -> ConnectionTest:
    """The result of a connection test that failed."""
    return ConnectionTest(reachable=False, server=server, error=reason.code, detail=reason.message)
