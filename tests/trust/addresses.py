"""URLs that lead to this machine, to its neighbours or to a metadata service, spelled in every way (K05, T03)."""

import ipaddress
import random
import socket

from migrations_app.clients.addresses import OutboundPolicy, resolve
from migrations_app.clients.kubernetes.connection import parse_server
from migrations_app.clients.webhooks import post
from migrations_app.errors import InvalidInput, InvalidKubeconfig, ReadError
from tests.trust.parts import Part

REACH = OutboundPolicy()
INSIDE_4 = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "169.254.169.254", "169.254.170.2", "224.0.0.1", "255.255.255.255"),
)
INSIDE_6 = ("::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1")
DIGITS = ("\uff10", "\u2460", "\u0660", "\U0001d7ce")
"""Where other digits begin: full width, circled (from 1), Arabic, mathematical."""
DOTS = (".", "\u3002", "\uff0e", "\uff61", "%2e")
AROUND = (
    *(("", "") for _ in range(8)), ("user@", ""), ("x.test@", ""), ("x.test:443@", ""), ("", "."), ("", "#x.test"),
    ("", "?x.test"), ("", "%00"), ("", "%20"), ("", "\t"), ("", "\r\n"), ("x.test\\@", ""), ("", "\\x.test"), ("", ":"),
)  # fmt: skip
SCHEMES = ("https://", "https://", "https://", "HTTPS://", "https:/", "https:", "//", "", "http://", "https:\\\\")
PORTS = ("", "", ":443", ":6443", ":0", ":65536", ":+443", ":00443", ":\uff14\uff14\uff13")
PATHS = ("", "/", "/..", "//x", "/latest/meta-data/", "/%2e%2e/", "?a=b")


def _number(value: int, dice: random.Random) -> str:
    zeros = "0" * dice.choice([0, 0, 0, 1, 6])
    return dice.choice([str(value), f"0{zeros}{value:o}", f"0x{zeros}{value:x}", f"0X{value:X}", f"{zeros}{value}"])


def _spelled_4(address: ipaddress.IPv4Address, dice: random.Random) -> str:
    """In one to four numbers, each in any notation, with dots and digits of any script."""
    octets, count = list(address.packed), dice.choice([1, 2, 3, 4, 4, 4])
    last = int.from_bytes(bytes(octets[count - 1 :]), "big")
    text = dice.choice(DOTS).join(_number(value, dice) for value in (*octets[: count - 1], last))
    if dice.random() < 0.2:
        first = ord(dice.choice(DIGITS))
        text = "".join(chr(first + int(sign)) if sign.isdecimal() and sign.isascii() else sign for sign in text)
    return "".join(f"%{ord(sign):02x}" if sign.isascii() and dice.random() < 0.03 else sign for sign in text)


def _carried(address: ipaddress.IPv4Address, dice: random.Random) -> ipaddress.IPv6Address:
    """An IPv6 address that leads to it: mapped, compatible, translated, 6to4, Teredo."""
    value = int(address)
    forms = (
        0xFFFF << 32 | value, value, 0x64FF9B << 96 | value, 0x2002 << 112 | value << 80,
        0x20010000 << 96 | (value ^ 0xFFFFFFFF),
    )  # fmt: skip
    return ipaddress.IPv6Address(dice.choice(forms))


def _spelled_6(address: ipaddress.IPv6Address, dice: random.Random) -> str:
    text = dice.choice([address.compressed, address.exploded, str(address), address.exploded.upper()])
    if dice.random() < 0.2 and address.packed[:12] == bytes(10) + b"\xff\xff":
        text = f"::ffff:{ipaddress.IPv4Address(address.packed[12:])}"
    return f"[{text}{dice.choice(['', '', '', '%25eth0', '%eth0', '%lo'])}]"


def spelling(dice: random.Random) -> str:
    """A URL whose host is one of ours."""
    four = ipaddress.IPv4Address(dice.choice(INSIDE_4))
    kind = dice.randrange(3)
    if kind == 0:
        host = _spelled_4(four, dice)
    elif kind == 1:
        host = _spelled_6(_carried(four, dice), dice)
    else:
        host = _spelled_6(ipaddress.IPv6Address(dice.choice(INSIDE_6)), dice)
    before, after = dice.choice(AROUND)
    return f"{dice.choice(SCHEMES)}{before}{host}{dice.choice(PORTS)}{after}{dice.choice(PATHS)}"


def as_the_system_does(host: str, _port: int) -> list[str]:
    """Every form of a number that the C library takes; any name leads to the metadata service.

    Raises gaierror for what leads elsewhere: 0255 is 173 to the library, where another reader takes it for 255.
    """
    try:
        found = socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeEncodeError):
        found = ""
    if found and found not in INSIDE_4:
        raise socket.gaierror("leads to none of ours")
    if found:
        return [found]
    try:
        return [str(ipaddress.ip_address(host.partition("%")[0]))]
    except ValueError:
        return ["169.254.169.254"]


def a_spelling(dice: random.Random) -> str:
    """Neither the address of a cluster nor that of a webhook may lead there."""
    url = spelling(dice)
    try:
        server = parse_server(url)
        reached = resolve(server.host, server.port, reach=REACH, resolver=as_the_system_does)
        return f"a cluster at {url!r} leads to {reached}"
    except (InvalidKubeconfig, ReadError):
        pass
    try:
        post(url, b"", headers={}, reach=REACH, resolver=as_the_system_does)
    except (InvalidInput, ReadError):
        return ""
    return f"a webhook at {url!r} was posted to"


PARTS = (Part(name="outbound spellings", full=5_000, rules="K05, T03", trial=a_spelling),)
