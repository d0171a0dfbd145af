"""K05, T03: which addresses are connected to, whatever they are spelled like."""

import ipaddress
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.addresses import OutboundPolicy, resolve, unwrapped, why_refused
from migrations_app.errors import AddressRefused, TimedOut, Unreachable

OPEN = OutboundPolicy()
REFUSED = {
    "loopback": [
        "127.0.0.1",
        "127.0.0.2",
        "127.255.255.254",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
    ],
    "metadata": [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "0:0:0:0:0:ffff:a9fe:a9fe",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "2600:1f14::5efe:169.254.169.254",
        "2600:1f14::200:5efe:a9fe:a9fe",
        "::a9fe:a9fe",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "::ffff:100.100.100.200",
    ],
    "link_local": [
        "169.254.0.1",
        "169.254.255.255",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "fe80::1%eth0",
        "::ffff:169.254.1.1",
    ],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1", "::ffff:224.0.0.1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "64:ff9b::"],
    "reserved": [
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.51.100.7",
        "203.0.113.9",
        "198.18.0.1",
        "2001:db8::1",
        "100::1",
    ],
    "malformed": [
        "",
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "1.2.3.4.5",
        "::1::",
        "[::1]",
        "127.0.0.1 ",
    ],
}
# A teredo address carries two addresses; the inverted one here is 169.254.169.254.
REFUSED["metadata"].append("2001:0:808:808::5601:5601")


@pytest.mark.parametrize(("why", "address"), [(why, each) for why, every in REFUSED.items() for each in every])
def test_an_address_is_refused_for_its_reason(why: str, address: str) -> None:
    assert why_refused(address, OPEN) == why


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "3.15.0.1",
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "100.64.0.1",
        "2600:1f14::1",
        "fd12:3456::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "::ffff:10.1.2.3",
    ],
)
def test_an_ordinary_address_is_connected_to(address: str) -> None:
    assert why_refused(address, OPEN) is None


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "172.31.9.9", "192.168.0.1", "100.64.1.1", "fd12::1", "::ffff:10.0.0.1"]
)
def test_private_networks_can_be_closed_and_opened_one_by_one(address: str) -> None:
    closed = OutboundPolicy(allow_private=False)
    assert why_refused(address, closed) == "private"
    assert why_refused(address, OutboundPolicy(allow_private=False, allowed=(address,))) is None


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b:1:a9fe:a9:fe00:808:808",  # a translator with the prefix of 48 bits sends this to 169.254.169.254
        "64:ff9b:1:8a9:fe:a9fe:808:808",  # 56 bits
        "64:ff9b:1:808:a9:fea9:fe08:808",  # 64 bits
        "64:ff9b:1:808:8:808:a9fe:a9fe",  # 96 bits
    ],
)
def test_a_translator_of_ones_own_is_judged_for_every_prefix_it_may_have(address: str) -> None:
    assert why_refused(address, OPEN) in ("metadata", "reserved")
    assert why_refused(address, OutboundPolicy(allowed=("64:ff9b:1::/48",))) == "metadata"


def test_what_is_denied_wins_over_what_is_allowed() -> None:
    own = OutboundPolicy(
        allow_loopback=True, allowed=("10.0.0.0/8", "127.0.0.0/8"), denied=("10.0.0.5", "127.0.0.1/32")
    )
    addresses = ["10.0.0.4", "10.0.0.5", "127.0.0.1", "127.0.0.2", "::ffff:10.0.0.5"]
    assert [why_refused(address, own) for address in addresses] == [None, "denied", "denied", None, "denied"]


def test_metadata_is_never_allowed() -> None:
    wide = OutboundPolicy(allow_loopback=True, allowed=("0.0.0.0/0", "::/0"))
    assert {why_refused(address, wide) for address in REFUSED["metadata"]} == {"metadata"}


def test_loopback_needs_its_setting() -> None:
    assert why_refused("127.0.0.1", OutboundPolicy(allow_loopback=True)) is None
    assert why_refused("::1", OutboundPolicy(allow_loopback=True)) is None
    assert why_refused("0.0.0.0", OutboundPolicy(allow_loopback=True)) == "unspecified"


@given(st.ip_addresses())
def test_every_address_has_an_answer(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:  # K18
    why = why_refused(str(address), OPEN)
    assert why is None or why in REFUSED
    if why is None:
        assert not any(each.is_loopback or each.is_link_local or each.is_multicast for each in unwrapped(address))


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_the_same_however_it_is_wrapped(address: ipaddress.IPv4Address) -> None:
    plain = why_refused(str(address), OPEN)
    number = int(address)
    mapped = [f"::ffff:{address}", str(ipaddress.IPv6Address((0x64FF9B << 96) | number))]
    assert [why_refused(each, OPEN) for each in mapped] == [plain, plain]


# Names.


def resolved(addresses: Sequence[str], *, reach: OutboundPolicy = OPEN) -> tuple[str, ...]:
    return resolve("kubernetes.test", 443, reach=reach, resolver=lambda _host, _port: addresses)


def test_all_addresses_of_a_name_are_kept_once() -> None:
    assert resolved(["10.0.0.1", "10.0.0.2", "10.0.0.1"]) == ("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize("bad", ["127.0.0.1", "169.254.169.254", "::ffff:169.254.169.254", "::1"])
def test_one_bad_address_refuses_them_all(bad: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        resolved(["10.0.0.1", bad])
    assert bad not in str(caught.value)


def test_a_name_without_address_is_unreachable() -> None:
    with pytest.raises(Unreachable) as caught:
        resolved([])
    assert caught.value.code == "unknown_host"


@pytest.mark.parametrize("wrong", [OSError("no such name"), UnicodeError("label too long")])
def test_a_resolver_that_fails_is_unreachable(wrong: Exception) -> None:
    def fail(_host: str, _port: int) -> Sequence[str]:
        raise wrong

    with pytest.raises(Unreachable) as caught:
        resolve("kubernetes.test", 443, reach=OPEN, resolver=fail)
    assert caught.value.code == "unknown_host"


def test_a_resolver_that_hangs_is_left() -> None:  # K06
    over = threading.Event()

    def hang(_host: str, _port: int) -> Sequence[str]:
        over.wait()  # whoever waited for it would wait for ever
        return ()

    with pytest.raises(TimedOut):
        resolve("kubernetes.test", 443, reach=OPEN, seconds=0.1, resolver=hang)
    over.set()
