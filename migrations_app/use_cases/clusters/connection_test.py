"""One look at an API server: does it answer, and what may these credentials not list. Stores nothing."""

from contextlib import closing
from dataclasses import dataclass

import msgspec

from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.clients.kubernetes.transport import TokenSource
from migrations_app.errors import KarpdashError, ReadError
from migrations_app.inventory.objects.karpenter import ServerVersion
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.readiness.rbac import READ, Missing, scan_roles
from migrations_app.use_cases.collect.reading import HOME_NAMESPACES
from migrations_app.use_cases.runtime.connections import limits, network_policy


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What a first look says: `error` is a code and `detail` its text when nothing could be read at all."""

    reachable: bool
    server: str = ""
    kubernetes: str = ""
    missing: tuple[Missing, ...] = ()
    rule: str = ""
    error: str = ""
    detail: str = ""


def try_server(connection: Connection, *, token: TokenSource | None = None) -> ConnectionTest:
    """Opens the server and looks; a failure is a result."""
    url = connection.server.url
    try:
        with closing(open_live(connection, reach=network_policy(), limits=limits(), token=token)) as api:
            return look(api, url)
    except ReadError as reason:
        return failed(reason, server=url)


def look(api: LiveApi, url: str) -> ConnectionTest:
    """What an open server says. Raises CouldNotLook."""
    found = msgspec.json.decode(api.get("/version"), type=ServerVersion)
    denied = [kind for kind in READ if not _may_list(api, kind)]
    missing = tuple(Missing(kind.group, kind.plural) for kind in denied)
    return ConnectionTest(
        reachable=True, server=url, kubernetes=found.git_version, missing=missing, rule=scan_roles(missing)
    )


def _may_list(api: LiveApi, kind: Kind) -> bool:
    """Secrets are asked for in Karpenter's namespaces only: the right to those of one of them is enough here."""
    places = ("", *HOME_NAMESPACES) if kind is kinds.SECRET else ("",)
    return any(api.access_review("list", group=kind.group, plural=kind.plural, namespace=place) for place in places)


def failed(reason: KarpdashError, *, server: str = "") -> ConnectionTest:
    """The result of a look that was none."""
    return ConnectionTest(reachable=False, server=server, error=reason.code, detail=reason.message)
