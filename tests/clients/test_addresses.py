"""K05, T03: which addresses are connected to, whatever they are spelled like."""

import ipaddress
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.addresses import Reach, resolve, unwrapped, why_refused
from migrations_app.clients.server_url import parse_server
from migrations_app.errors import AddressRefused, BadKubeconfig, CouldNotLook, TimedOut, Unreachable

OPEN = Reach()
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
    closed = Reach(allow_private=False)
    assert why_refused(address, closed) == "private"
    assert why_refused(address, Reach(allow_private=False, allowed=(address,))) is None


def test_what_is_denied_wins_over_what_is_allowed() -> None:
    own = Reach(allow_loopback=True, allowed=("10.0.0.0/8", "127.0.0.0/8"), denied=("10.0.0.5", "127.0.0.1/32"))
    addresses = ["10.0.0.4", "10.0.0.5", "127.0.0.1", "127.0.0.2", "::ffff:10.0.0.5"]
    assert [why_refused(address, own) for address in addresses] == [None, "denied", "denied", None, "denied"]


def test_metadata_is_never_allowed() -> None:
    wide = Reach(allow_loopback=True, allowed=("0.0.0.0/0", "::/0"))
    assert {why_refused(address, wide) for address in REFUSED["metadata"]} == {"metadata"}


def test_loopback_needs_its_setting() -> None:
    assert why_refused("127.0.0.1", Reach(allow_loopback=True)) is None
    assert why_refused("::1", Reach(allow_loopback=True)) is None
    assert why_refused("0.0.0.0", Reach(allow_loopback=True)) == "unspecified"


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


def resolved(addresses: Sequence[str], *, reach: Reach = OPEN) -> tuple[str, ...]:
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
    def hang(_host: str, _port: int) -> Sequence[str]:
        time.sleep(2)
        return ()

    started = time.monotonic()
    with pytest.raises(TimedOut):
        resolve("kubernetes.test", 443, reach=OPEN, seconds=0.1, resolver=hang)
    assert time.monotonic() - started < 1


# Spellings of servers that lead to this machine or to a metadata service: none may pass both the grammar and the judge.

HOSTS = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "0",
    "0.0.0.0",
    "0x7f.1",
    "0x7f000001",
    "0X7F000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "127.000.000.001",
    "127.0.0.01",
    "00127.0.0.1",
    "127.0.0.1.1",
    "127.0.0.256",
    "0x7f.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "127.0.0.0x1",
    "1.0x7f",
    "4294967295",
    "4294967296",
    "99999999999",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "0xa9.0xfe.0xa9.0xfe",
    "169.254.169.254",
    "169.254.169.254.",
    "169.254.169.0xfe",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::]",
    "[fd00:ec2::254]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[fe80::1]",
    "[::1%lo]",
    "[::127.0.0.1]",
    "[ff02::1]",
    "[::1",
    "[::1]]",
    "::1",
    "[v1.x]",
    "[]",
    "[127.0.0.1]",
    "localhost%00.x.test",
    "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "127.0.0.1%2f",
    "%31%32%37.0.0.1",
    "\u246f\u2468.254.169.254",
    "\u2460\u2461\u2466.0.0.1",
    "\u24dbocalhost",
    "lo\xadcalhost",
    "user@127.0.0.1",
    "a:b@127.0.0.1",
    "x.test@127.0.0.1",
    "127.0.0.1#x.test",
    "127.0.0.1?x.test",
    "x.test\\@127.0.0.1",
    "127.0.0.1\\x",
    "127.0.0.1%00",
    "127.0.0.1%20",
    "127.0.0.1%0d%0a",
    "-x.test",
    "x-.test",
    ".x.test",
    "x..test",
    "_",
    "*",
    "x,test",
    "x;test",
    "x'test",
    'x"test',
    "x<test",
    "x>test",
    "x|test",
    "x^test",
    "x`test",
    "x{test}",
    "x$test",
    "x(test)",
    "x!test",
    "x+test",
    "x&test",
    "x=test",
    "x~test",
    "{x}",
    "$HOME",
    "${HOME}",
    "%24HOME",
]
FORMS = [
    "http://x.test",
    "HTTP://x.test",
    "//x.test",
    "x.test",
    "x.test:443",
    "",
    " ",
    "https://",
    "https:///",
    "https:/x.test",
    "https:x.test",
    "HTTPS//x.test",
    "ftp://x.test",
    "file:///etc/passwd",
    "gopher://x.test",
    "unix:///x.sock",
    "javascript:alert(1)",
    "https://x.test:0",
    "https://x.test:65536",
    "https://x.test:-1",
    "https://x.test:+443",
    "https://x.test:443x",
    "https://x.test:\uff14\uff14\uff13",
    "https://x.test:",
    "https://x.test/..",
    "https://x.test/a/../b",
    "https://x.test/%2e%2e/",
    "https://x.test/a?b",
    "https://x.test/a#b",
    "https://x.test//a",
    "https://x.test/a b",
    "https://x.test\n",
    "https://x.test\r\nHost: y",
    "https://x.test\t",
    " https://x.test",
    "https://x.test\x00",
    "https://" + "a" * 254,
    "https://" + "a." * 130 + "test",
    "https://x.test/" + "a" * 3000,
]
SPELLINGS = [f"https://{host}" for host in HOSTS] + FORMS


def outcome(url: str) -> str:
    """`refused` by the grammar or by the judge; a name is taken to lead to the metadata service."""
    try:
        server = parse_server(url)
        resolve(server.host, server.port, reach=OPEN, resolver=_as_the_system_does)
    except (BadKubeconfig, CouldNotLook):
        return "refused"
    return "connected"


def _as_the_system_does(host: str, _port: int) -> list[str]:
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return ["169.254.169.254"]


def test_there_are_120_spellings() -> None:
    assert len(set(SPELLINGS)) >= 120


@pytest.mark.parametrize("url", sorted(set(SPELLINGS)))
def test_no_spelling_leads_inside(url: str) -> None:  # T03
    assert outcome(url) == "refused"


def test_the_spellings_would_be_noticed() -> None:
    assert outcome("https://8.8.8.8") == "connected"


@given(st.text(max_size=60))
def test_any_text_is_a_server_or_refused(text: str) -> None:  # K18
    code = ""
    try:
        server = parse_server(f"https://{text}")
        assert parse_server(server.url) == server
    except BadKubeconfig as wrong:
        code = wrong.code
    assert code in ("", "bad_server")


GOOD = [
    ("https://x.test", ("x.test", 443, "")),
    ("https://X.Test:6443/", ("x.test", 6443, "")),
    ("https://x.test.", ("x.test", 443, "")),
    ("https://10.0.0.1:443", ("10.0.0.1", 443, "")),
    ("https://[2600:1F14::1]:8443", ("2600:1f14::1", 8443, "")),
    ("https://rancher.x.test/k8s/clusters/c-m-1", ("rancher.x.test", 443, "/k8s/clusters/c-m-1")),
    ("https://ABC123.gr7.eu-west-1.eks.amazonaws.com", ("abc123.gr7.eu-west-1.eks.amazonaws.com", 443, "")),
]


@pytest.mark.parametrize(("url", "parts"), GOOD)
def test_ordinary_servers_are_read(url: str, parts: tuple[str, int, str]) -> None:
    server = parse_server(url)
    assert (server.host, server.port, server.prefix) == parts
