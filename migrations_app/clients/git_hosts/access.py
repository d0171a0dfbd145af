"""Opens the client of a Git host, from the address of a repository and a credential."""

import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import jwt

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.git_hosts.github import VERSION, GitHubRepository
from migrations_app.clients.git_hosts.gitlab import GitLabProject
from migrations_app.clients.git_hosts.host import GitHost, HostKind
from migrations_app.clients.git_hosts.rest import HostServer, field
from migrations_app.clients.secret import Secret
from migrations_app.errors import Conflict, Forbidden, InvalidInput, NotServed, Unauthorized

GITHUB: Final = "https://github.com"
MINUTES_OF_APP: Final = 9
"""GitHub accepts an app's own token for at most ten minutes; one minute is left for clocks that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCredential:
    """A token, or with `app` the private key of a GitHub App (PEM) and the number of its installation."""

    secret: Secret
    app: str = ""
    installation: str = ""


def web_address(kind: str, address: str, *, number: int) -> str:
    """The web page of a request, from the registered address: links in answers are never used."""
    return f"{address}/pull/{number}" if kind == "github" else f"{address}/-/merge_requests/{number}"


def open_host(kind: HostKind, address: str, *, credential: HostCredential, reach: OutboundPolicy) -> GitHost:
    """The client of a repository. For a GitHub App, its token of one hour is fetched here.

    Raises ReadError, and InvalidInput for an invalid key.
    """
    parts = urlsplit(address)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")
    if kind == "gitlab":
        headers = {"PRIVATE-TOKEN": credential.secret.reveal()}
        return GitLabProject(HostServer(f"{origin}/api/v4", headers=headers, reach=reach), path)
    base = "https://api.github.com" if origin == GITHUB else f"{origin}/api/v3"
    token = _installation_token(base, credential, reach=reach) if credential.app else credential.secret.reveal()
    return GitHubRepository(HostServer(base, headers=_bearer(token), reach=reach), path)


def app_token(credential: HostCredential, *, now: int) -> str:
    """The token by which a GitHub App authenticates. Raises InvalidInput for a private key that cannot be used."""
    claims = {"iat": now - 60, "exp": now + MINUTES_OF_APP * 60, "iss": credential.app}
    try:
        return jwt.encode(claims, credential.secret.reveal(), algorithm="RS256")
    except (ValueError, TypeError, jwt.PyJWTError):
        raise InvalidInput("this is not a private key of a GitHub App (PEM)", where="secret", code="bad_key") from None


def _installation_token(base: str, credential: HostCredential, *, reach: OutboundPolicy) -> str:
    server = HostServer(base, headers=_bearer(app_token(credential, now=int(time.time()))), reach=reach)
    try:
        return field(server.post(f"/app/installations/{credential.installation}/access_tokens", {}), "token")
    except (Unauthorized, Forbidden, NotServed, Conflict):
        message = (
            "GitHub refuses the app: its key is wrong or was revoked, or the installation was removed or is suspended"
        )
        raise Unauthorized(message, code="app_refused") from None


def _bearer(token: str) -> dict[str, str]:
    return {**VERSION, "Authorization": f"Bearer {token}"}
