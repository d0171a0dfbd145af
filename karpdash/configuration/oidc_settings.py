"""The settings of OpenID Connect sign-in, validated together, since a part of them is not usable."""

from typing import Protocol

from migrations_app.clients.identity_provider import OidcClient, read_issuer
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, InvalidSetting


class OidcTexts(Protocol):
    """The texts of the environment variables."""

    @property
    def oidc_issuer(self) -> str: ...
    @property
    def oidc_client_id(self) -> str: ...
    @property
    def oidc_client_secret(self) -> str: ...
    @property
    def oidc_username_claim(self) -> str: ...
    @property
    def oidc_groups_claim(self) -> str: ...
    @property
    def oidc_groups_prefix(self) -> str: ...
    @property
    def oidc_scopes(self) -> str: ...
    @property
    def oidc_label(self) -> str: ...


def read_oidc(raw: OidcTexts) -> OidcClient | None:
    """The client; None if sign-in uses passwords only. Raises InvalidSetting; messages never contain the secret."""
    if not raw.oidc_issuer:
        if raw.oidc_client_id or raw.oidc_client_secret:
            raise _bad("OIDC_ISSUER", "is missing beside the other KARPDASH_OIDC_ settings")
        return None
    for name in ("client_id", "client_secret", "username_claim", "groups_claim", "label"):
        text = str(getattr(raw, f"oidc_{name}"))
        if not text or not text.isprintable():
            raise _bad(f"OIDC_{name.upper()}", "must be a text in one line")
    if "openid" not in raw.oidc_scopes.split():
        raise _bad("OIDC_SCOPES", "must name openid")
    try:
        issuer = read_issuer(raw.oidc_issuer)
    except InvalidInput as wrong:
        raise _bad("OIDC_ISSUER", wrong.message) from None
    return OidcClient(
        issuer=issuer,
        client_id=raw.oidc_client_id,
        client_secret=Secret(raw.oidc_client_secret),
        username_claim=raw.oidc_username_claim,
        groups_claim=raw.oidc_groups_claim,
        groups_prefix=raw.oidc_groups_prefix,
        scopes=raw.oidc_scopes,
        label=raw.oidc_label,
    )


def _bad(name: str, message: str) -> InvalidSetting:
    return InvalidSetting(message, where=f"KARPDASH_{name}")
