"""Where karpdash's own database and broker listen, so that nothing a person names leads there (K05, T03)."""

import ipaddress
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from migrations_app.errors import AddressRefused, CouldNotLook

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Asking: TypeAlias = Callable[[str, int], Sequence[str]]
"""The addresses of a name; raises CouldNotLook."""

POSTGRES_PORT, REDIS_PORT = 5432, 6379
# Nobody may have this one (RFC 5737): a machine that lets it be bound to lets everything be bound to.
_NOBODYS = "192.0.2.1"


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A host by name or address, and a port."""

    host: str
    port: int


_last_known: dict[OwnPlace, tuple[str, ...]] = {}
"""What a name last stood for: a broker that is away for a while must not stop the reading of clusters (R05)."""


def own_places(database: Mapping[str, Any], broker_url: str) -> tuple[OwnPlace, ...]:
    """The database and the broker, as the settings name them; none for a file or a socket of this machine."""
    return tuple(dict.fromkeys((*_of_database(database), *_of_broker(broker_url))))


def _of_database(database: Mapping[str, Any]) -> Iterator[OwnPlace]:
    if not str(database.get("ENGINE", "")).endswith("postgresql"):
        return
    # libpq fills what the settings leave open from these variables, and an address there wins over every name.
    hosts = _several(database.get("HOST") or os.environ.get("PGHOST", ""))
    ports = _several(database.get("PORT") or os.environ.get("PGPORT", "")) or [str(POSTGRES_PORT)]
    for at, host in enumerate((*hosts, *_several(os.environ.get("PGHOSTADDR", "")))):
        port = ports[at] if at < len(ports) else ports[0]
        if host[0] not in "/@":
            yield OwnPlace(host.strip("[]").lower(), int(port) if port.isdecimal() else POSTGRES_PORT)


def _of_broker(url: str) -> Iterator[OwnPlace]:
    for one in url.split(";"):
        parts = urlsplit(one.strip())
        if parts.scheme in ("redis", "rediss"):
            yield OwnPlace(unquote(parts.hostname or "localhost"), parts.port or REDIS_PORT)


def _several(text: object) -> list[str]:
    return [piece.strip() for piece in str(text).split(",") if piece.strip()]


def addresses_of(place: OwnPlace, ask: Asking) -> tuple[str, ...]:
    """Every address of the place now, else those it had before.

    Raises AddressRefused when it was never known: what cannot be told apart from the database is not connected to.
    """
    try:
        found = tuple(ask(place.host, place.port))
    except CouldNotLook:
        found = ()
    if found:
        _last_known[place] = found
    elif place not in _last_known:
        raise AddressRefused("karpdash's own database or broker does not resolve: no address can be told apart from it")
    return _last_known[place]


def is_this_machine(address: Address) -> bool:
    """Does the address lead back to where karpdash runs."""
    if address.is_loopback or address.is_unspecified:
        return True
    return not _binds_everything() and _binds(str(address))


def _binds(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


@cache
def _binds_everything() -> bool:
    return _binds(_NOBODYS)
