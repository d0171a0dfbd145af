"""T03: servers as people and attackers spell them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.addresses import OutboundPolicy, resolve
from migrations_app.clients.kubernetes.connection import parse_server
from migrations_app.errors import InvalidKubeconfig, ReadError

OPEN = OutboundPolicy()

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
    except (InvalidKubeconfig, ReadError):
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
    except InvalidKubeconfig as wrong:
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
