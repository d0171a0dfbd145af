"""Ranges of addresses that a service account's tokens may come from."""

import ipaddress
from collections.abc import Sequence

from migrations_app.clients.addresses import Network
from migrations_app.errors import InvalidInput

MAX_NETWORKS = 20


def checked_networks(texts: Sequence[str]) -> list[str]:
    """The ranges in canonical form, sorted and without duplicates; a single address is a range of one.

    Raises InvalidInput `bad_network` for text that is no range in CIDR notation, for host bits after the prefix, and
    for more than MAX_NETWORKS.
    """
    if len(texts) > MAX_NETWORKS:
        raise InvalidInput(f"at most {MAX_NETWORKS} networks", where="networks", code="bad_network")
    networks = {_network(text.strip()) for text in texts}
    return [
        str(network)
        for network in sorted(
            networks, key=lambda network: (network.version, network.network_address, network.prefixlen)
        )
    ]


def inside(address: str, networks: Sequence[str]) -> bool:
    """Whether the address is in one of the ranges; False for an unreadable address.

    An IPv4 address that is written as IPv6 (`::ffff:192.0.2.1`) counts as both.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    forms = (ip, ip.ipv4_mapped) if isinstance(ip, ipaddress.IPv6Address) else (ip,)
    ranges = [ipaddress.ip_network(network) for network in networks]
    return any(
        form is not None and form.version == network.version and form in network for form in forms for network in ranges
    )


def _network(text: str) -> Network:
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        why = "is not a network such as 192.0.2.0/24"
    else:
        if interface.ip == interface.network.network_address:
            return interface.network
        why = f"has bits after its prefix: the network is {interface.network}"
    raise InvalidInput(f"{text[:60]!r} {why}", where="networks", code="bad_network")
