"""What is needed to speak to one API server, all of it in memory."""

from dataclasses import dataclass

from migrations_app.clients.secret import Secret


@dataclass(frozen=True, slots=True)
class EksToken:
    """The EKS cluster that tokens are made for, and the role that asks for them."""

    cluster_name: str
    region: str
    role_arn: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """Where an API server is. `prefix` is a path such as /k8s/clusters/c-1 of a front end, without a final slash."""

    host: str
    port: int = 443
    prefix: str = ""

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL and in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 443 else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.authority}{self.prefix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One server, the CA it must prove itself with, and one identity. `eks` takes the place of a fixed token."""

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
        """The name that the server's certificate must carry."""
        return self.tls_server_name or self.server.host
