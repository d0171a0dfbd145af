"""A browser's way to the identity provider and back, and the settings that name it."""

from django.test import Client

from migrations_app.clients.identity_provider import OidcClient
from migrations_app.clients.secret import Secret
from tests.servers.identity_provider import CLIENT, SECRET, IdentityProvider


def named(house: IdentityProvider) -> OidcClient:
    """What the settings say of it."""
    return OidcClient(
        issuer=house.issuer, client_id=CLIENT, client_secret=Secret(SECRET), username_claim="preferred_username",
        groups_claim="groups", groups_prefix="kd-", scopes="openid profile email", label="the house",
    )  # fmt: skip


def sent_away(client: Client, path: str = "/sign-in/oidc", **query: str) -> str:
    """Where the browser is sent."""
    answer = client.get(path, query)
    assert answer.status_code == 302
    return answer.url


def callback_address(client: Client, house: IdentityProvider, *, path: str = "/sign-in/oidc", **query: str) -> str:
    """The address here that the provider sends the browser to."""
    return house.authorize(sent_away(client, path, **query)).removeprefix("http://testserver")


def signed_in(client: Client, house: IdentityProvider, **query: str):
    """The answer to the browser that came back."""
    return client.get(callback_address(client, house, **query))
