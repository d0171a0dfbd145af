"""Decides which addresses karpdash may connect to (K05, T03).

A host name is resolved once and every address it has is checked. The addresses of karpdash's own database and
broker are refused, so that a URL entered by a user cannot reach them.
"""

import ipaddress
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from migrations_app.errors import AddressRefused, ReadError, TimedOut, Unreachable

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
CheckedResolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""Resolves (host, port) to its addresses; raises ReadError."""

POSTGRES_PORT, REDIS_PORT = 5432, 6379
# RFC 5737 documentation address: no machine owns it. If it can be bound, the machine lets any address be bound.
_UNOWNED_ADDRESS = "192.0.2.1"


@dataclass(frozen=True, slots=True)
class InternalEndpoint:
    """A host (name or address) and a port."""

    host: str
    port: int


_last_known: dict[InternalEndpoint, tuple[str, ...]] = {}
"""The last known addresses of each endpoint: an outage of the broker must not stop cluster scans (R05)."""


def internal_endpoints(database: Mapping[str, Any], broker_url: str) -> tuple[InternalEndpoint, ...]:
    """The database and broker endpoints from the settings; empty for a SQLite file or a local socket."""
    return tuple(dict.fromkeys((*_of_database(database), *_of_broker(broker_url))))


def _of_database(database: Mapping[str, Any]) -> Iterator[InternalEndpoint]:
    if not str(database.get("ENGINE", "")).endswith("postgresql"):
        return
    # libpq fills settings that are missing from these variables; PGHOSTADDR takes precedence over any host name.
    hosts = _several(database.get("HOST") or os.environ.get("PGHOST", ""))
    ports = _several(database.get("PORT") or os.environ.get("PGPORT", "")) or [str(POSTGRES_PORT)]
    for at, host in enumerate((*hosts, *_several(os.environ.get("PGHOSTADDR", "")))):
        port = ports[at] if at < len(ports) else ports[0]
        if host[0] not in "/@":
            yield InternalEndpoint(host.strip("[]").lower(), int(port) if port.isdecimal() else POSTGRES_PORT)


def _of_broker(url: str) -> Iterator[InternalEndpoint]:
    for broker_url in url.split(";"):
        parts = urlsplit(broker_url.strip())
        if parts.scheme in ("redis", "rediss"):
            yield InternalEndpoint(unquote(parts.hostname or "localhost"), parts.port or REDIS_PORT)


def _several(text: object) -> list[str]:
    return [piece.strip() for piece in str(text).split(",") if piece.strip()]


def addresses_of(endpoint: InternalEndpoint, ask: CheckedResolver) -> tuple[str, ...]:
    """The current addresses of the endpoint; if it does not resolve now, the last known ones.

    Raises AddressRefused if it never resolved: no other address could then be distinguished from it.
    """
    try:
        addresses = tuple(ask(endpoint.host, endpoint.port))
    except ReadError:
        addresses = ()
    if addresses:
        _last_known[endpoint] = addresses
    elif endpoint not in _last_known:
        raise AddressRefused(
            "the name of karpdash's own database or broker does not resolve, so no address can be compared with it"
        )
    return _last_known[endpoint]


def redis_url(broker_url: str) -> str:
    """The broker's address in the form of redis-py; Celery's own form of a socket's address is translated."""
    return broker_url.replace("redis+socket://", "unix://").replace("virtual_host=", "db=")


def is_loopback(host: str) -> bool:
    """Whether the host is a loopback address or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_this_machine(address: Address) -> bool:
    """Whether the address belongs to the machine that karpdash runs on."""
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
    return _binds(_UNOWNED_ADDRESS)


Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

MAX_ADDRESSES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """Where this installation may connect to. `denied` and `own` (its database and broker) take precedence over
    `allowed`.

    `allowed` permits networks that are refused by default (private, loopback, reserved), but never metadata
    services.
    """

    allow_loopback: bool = False
    allow_private: bool = True
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    own: tuple[InternalEndpoint, ...] = ()


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


# Instance metadata and workload credential endpoints of AWS (including ECS and EKS Pod Identity), Google, Azure,
# Alibaba, Oracle.
_METADATA = _networks(
    "169.254.169.254/32",
    "169.254.170.0/24",
    "fd00:ec2::/32",
    "fd20:ce::/32",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
)
# 100.64/10 is shared address space; clouds use it inside a network, as EKS does for pods.
_PRIVATE = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
_LINK_LOCAL = _networks("169.254.0.0/16", "fe80::/10", "fec0::/10")
_THIS_HOST = _networks("0.0.0.0/8", "::/128")
_NAT64 = _networks("64:ff9b::/96")
# The operator of a NAT64 translator chooses the prefix length in this range; octet 8 of the address is skipped (RFC
# 6052).
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_LAYOUTS = ((12, 13, 14, 15), (6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12))
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def unwrapped(address: Address) -> Iterator[Address]:
    """The address and every IPv4 address embedded in it (mapped, compatible, NAT64, 6to4, Teredo, ISATAP)."""
    yield address
    if not isinstance(address, ipaddress.IPv6Address):
        return
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    carries_last = address.ipv4_mapped or any(address in network for network in _NAT64)
    if carries_last or (address in _IPV4_COMPATIBLE and number > 1) or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        yield last
    if address in _LOCAL_NAT64:
        yield from (ipaddress.IPv4Address(bytes(address.packed[at] for at in octets)) for octets in _LAYOUTS)
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo


def why_refused(address: str, policy: OutboundPolicy) -> str | None:
    """The reason code why the address is refused; None if it may be connected to."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "malformed"
    if getattr(parsed, "scope_id", None):
        return "link_local"
    rules = _AddressRules(_networks(*policy.allowed), _networks(*policy.denied), policy)
    return next((why for embedded in unwrapped(parsed) if (why := rules.reason_against(embedded, of=parsed))), None)


@dataclass(frozen=True, slots=True)
class _AddressRules:
    allowed: tuple[Network, ...]
    denied: tuple[Network, ...]
    reach: OutboundPolicy

    def reason_against(self, address: Address, *, of: Address) -> str | None:
        if _within(address, _METADATA):
            return "metadata"
        if _within(address, self.denied):
            return "denied"
        if _within(address, self.allowed) or _within(of, self.allowed):
            return None
        if address.is_loopback:
            return None if self.reach.allow_loopback else "loopback"
        if _within(address, _PRIVATE):
            return None if self.reach.allow_private else "private"
        return _special(address, carried=address is not of)


def _special(address: Address, *, carried: bool) -> str | None:
    if _within(address, _THIS_HOST):
        return "unspecified"
    if _within(address, _LINK_LOCAL):
        return "link_local"
    if address.is_multicast:
        return "multicast"
    wraps = not carried and len(list(unwrapped(address))) > 1
    return None if address.is_global or wraps else "reserved"


def _within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def ask_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses that the system resolver returns; raises OSError if the name is unknown."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def resolve(
    host: str, port: int, *, reach: OutboundPolicy, seconds: float = 5.0, resolver: Resolver = ask_resolver
) -> tuple[str, ...]:
    """All addresses of the host. If one of them is refused, the whole host is refused.

    The addresses of karpdash's own database and broker are resolved again on every call, with the same resolver.
    Raises AddressRefused; Unreachable if the name does not resolve; TimedOut.
    """
    ends = time.monotonic() + seconds
    addresses = tuple(dict.fromkeys(_resolve_in_time(host, port, seconds=seconds, resolver=resolver)))[:MAX_ADDRESSES]
    if not addresses:
        raise Unreachable("the server's name does not resolve", code="unknown_host")
    for address in addresses:
        if why := why_refused(address, reach):
            raise AddressRefused(f"the server's address is not allowed by this installation ({why})")
    for endpoint in reach.own:
        own_addresses = addresses_of(
            endpoint, lambda name, at: _resolve_in_time(name, at, seconds=ends - time.monotonic(), resolver=resolver)
        )
        if any(
            _leads_to(address, port, own=own, own_port=endpoint.port) for address in addresses for own in own_addresses
        ):
            raise AddressRefused("the server's address is that of karpdash's own database or broker (denied)")
    return addresses


def _leads_to(address: str, port: int, *, own: str, own_port: int) -> bool:
    """Whether the address is the internal endpoint. For another machine any port counts; for this machine, where
    clusters may run too, only the endpoint's port.
    """
    own_forms, address_forms = _forms(own), _forms(address)
    if any(is_this_machine(form) for form in own_forms):
        return port == own_port and any(is_this_machine(form) for form in address_forms)
    return not own_forms.isdisjoint(address_forms)


def _forms(address: str) -> frozenset[Address]:
    try:
        return frozenset(unwrapped(ipaddress.ip_address(address.partition("%")[0])))
    except ValueError:
        return frozenset()


def _resolve_in_time(host: str, port: int, *, seconds: float, resolver: Resolver) -> Sequence[str]:
    # getaddrinfo takes no timeout, so it runs in a daemon thread, which does not delay process exit.
    answers: queue.SimpleQueue[Sequence[str] | OSError | ValueError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolver(host, port))
        except (OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise TimedOut("the server's name was not resolved in time") from None
    if isinstance(answer, Exception):
        raise Unreachable("the server's name does not resolve", code="unknown_host")
    return answer
