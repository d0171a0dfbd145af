"""Everything needed to connect to one API server, held in memory, and a strict parser for the server's
URL (K02, T03).
"""

import hashlib
import ipaddress
import re
from dataclasses import dataclass

from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidKubeconfig


@dataclass(frozen=True, slots=True)
class EksToken:
    """The EKS cluster that tokens are made for, and the role that requests them."""

    cluster_name: str
    region: str
    role_arn: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """Host and port of an API server. `prefix` is a path such as /k8s/clusters/c-1 of a front end, without a trailing
    slash.
    """

    host: str
    port: int = 443
    prefix: str = ""

    @property
    def authority(self) -> str:
        """Host and port as in a URL and in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 443 else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.authority}{self.prefix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One server, the CA that must have signed its certificate, and one identity. `eks` replaces a fixed token."""

    server: Server
    ca_pem: str
    token: Secret | None = None
    client_cert_pem: str | None = None
    client_key_pem: Secret | None = None
    tls_server_name: str | None = None
    context: str = ""
    eks: EksToken | None = None

    @property
    def tls_name(self) -> str:
        """The name that the server's certificate must match."""
        return self.tls_server_name or self.server.host


def digest_of_ca(connection: Connection) -> str:
    """SHA-256 of the CA as it was given."""
    return hashlib.sha256(connection.ca_pem.encode()).hexdigest()


LONGEST_URL = 2048
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\.?\Z){_LABEL}(?:\.{_LABEL})*\.?")
_URL = re.compile(
    r"https://(?P<host>\[[0-9a-fA-F:.]{2,45}\]|[a-zA-Z0-9._-]{1,254})"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<prefix>(?:/[a-zA-Z0-9._~:-]+)*)/?"
)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")


def parse_server(url: str, *, where: str = "server") -> Server:
    """The parts of an https URL. Raises InvalidKubeconfig with code `not_https` or `bad_server`."""
    if url[:7].lower() == "http://":
        raise InvalidKubeconfig(
            "plain http is never used; the server must be an https:// URL", code="not_https", where=where
        )
    match = _URL.fullmatch(url[:LONGEST_URL] if url.isascii() else "")
    if match is None:
        raise _bad("not an https:// URL of a host, a port and a plain path", where)
    port = int(match["port"] or 443)
    prefix = match["prefix"]
    if not 0 < port < 65536 or {".", ".."} & set(prefix.split("/")):
        raise _bad("the port or the path of the URL cannot be used", where)
    return Server(parse_host(match["host"], where=where), port, prefix)


def parse_host(host: str, *, where: str) -> str:
    """A DNS name in lower case, or an IP address in canonical form. Raises InvalidKubeconfig with code `bad_server`."""
    if host.startswith("["):
        return _address(host[1:-1], where)
    # inet_aton accepts 0x7f.1, 017700000001 and 127.1 as addresses; only the canonical form is accepted here.
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return _address(host, where)
    if not _NAME.fullmatch(host):
        raise _bad("the host is neither a DNS name nor an address", where)
    return host.rstrip(".").lower()


def _address(text: str, where: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise _bad("the host looks like an address but is not spelled as one", where) from None


def _bad(message: str, where: str) -> InvalidKubeconfig:
    return InvalidKubeconfig(message, code="bad_server", where=where)
