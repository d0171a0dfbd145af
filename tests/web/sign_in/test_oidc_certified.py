"""Sign-in at a provider that others wrote and that is certified: the whole way of a browser, keys that change."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from migrations_app.clients.identity_provider import OidcClient
from migrations_app.clients.secret import Secret
from migrations_app.models.audit import AuditEvent
from tests.servers.certified_provider import CLIENT, SECRET, CertifiedProvider, ProviderBrowser, install
from tests.web.sign_in.provider import sent_away

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("oidc")
    install(folder)
    return folder


@pytest.fixture
def real(installed: Path, settings: Settings) -> Iterator[CertifiedProvider]:
    """The provider, which the settings name. The clock of pages stands still otherwise, and that of it does not."""
    server = CertifiedProvider(installed)
    settings.ENV = replace(settings.ENV, oidc=_named(server.issuer))
    with time_machine.travel(time_machine.escape_hatch.time.time()):
        yield server
    server.stop()


def _named(issuer: str) -> OidcClient:
    return OidcClient(
        issuer=issuer, client_id=CLIENT, client_secret=Secret(SECRET), username_claim="preferred_username",
        groups_claim="groups", groups_prefix="kd-", scopes="openid profile email groups", label="the real one",
    )  # fmt: skip


def _changed(address: str, **query: str) -> str:
    """The address with other parameters."""
    parts = urlsplit(address)
    return parts._replace(query=urlencode({**parse_qs(parts.query), **query}, doseq=True)).geturl()


def _is_in(client: Any) -> bool:
    return "_auth_user_id" in client.session


def _why(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.why for one in caplog.records if hasattr(one, "why")]


def test_a_person_signs_in_with_the_teams_of_the_moment(real: CertifiedProvider) -> None:
    browser, client = ProviderBrowser("ada"), Client()
    answer = client.get(browser.authorize(sent_away(client, next="/waivers/")))
    assert (answer.status_code, answer.url, _is_in(client), browser.asked) == (302, "/waivers/", True, 1)
    ada = User.objects.get()
    assert (ada.username, [one.name for one in ada.groups.all()]) == ("ada", ["night"])
    assert (ada.identity.issuer, ada.identity.subject) == (real.issuer, "id-of-ada")
    real.people(ada=["kd-day", "kd-night"])
    client.get(browser.authorize(sent_away(client)))
    assert sorted(one.name for one in ada.groups.all()) == ["day", "night"]


def test_out_here_is_not_out_there_and_step_up_asks_again(real: CertifiedProvider) -> None:
    browser, client = ProviderBrowser("ada"), Client()
    client.get(browser.authorize(sent_away(client)))
    client.post("/logout")
    assert _is_in(client) is False
    client.get(browser.authorize(sent_away(client)))
    assert (_is_in(client), browser.asked) == (True, 1)  # the provider still knew the browser
    answer = client.get(browser.authorize(sent_away(client, "/sign-in/oidc/again", next="/catalogue/")))
    assert (answer.url, browser.asked) == ("/catalogue/", 2)
    assert AuditEvent.objects.filter(verb="sign_in.again").count() == 1


def test_a_new_key_is_taken_and_a_token_of_the_old_one_no_longer(
    real: CertifiedProvider, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, client = ProviderBrowser("ada"), Client()
    client.get(browser.authorize(sent_away(client)))
    real.rotate()
    client.get(browser.authorize(sent_away(client)))
    assert _is_in(client) is True
    from migrations_app.use_cases.accounts import oidc

    read = oidc.keys_of

    def keys_after_the_next_turn(*args: Any, **named: Any) -> Any:
        real.rotate()
        return read(*args, **named)

    monkeypatch.setattr(oidc, "keys_of", keys_after_the_next_turn)
    other = Client()
    other.get(browser.authorize(sent_away(other)))
    assert (_is_in(other), _why(caplog)) == (
        False,
        ["the ID token names a key that the identity provider does not publish"],
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nonce", "the ID token's nonce does not match this sign-in"),
        ("code_challenge", "the identity provider answered 400"),
    ],
)
def test_what_was_changed_on_the_way_there_is_refused(
    real: CertifiedProvider, caplog: pytest.LogCaptureFixture, name: str, why: str
) -> None:
    client = Client()
    back = ProviderBrowser("ada").authorize(_changed(sent_away(client), **{name: "x" * 43}))
    answer = client.get(back)
    assert (answer.url, _is_in(client), _why(caplog)) == ("/login", False, [why])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("state", "the answer does not belong to a sign-in of this browser"),
        ("iss", "the answer is from another identity provider"),
        ("code", "the identity provider answered 400"),
    ],
)
def test_what_was_changed_on_the_way_back_is_refused(
    real: CertifiedProvider, caplog: pytest.LogCaptureFixture, name: str, why: str
) -> None:
    client = Client()
    back = _changed(ProviderBrowser("ada").authorize(sent_away(client)), **{name: "other"})
    answer = client.get(back)
    assert (answer.url, _is_in(client), _why(caplog)) == ("/login", False, [why])


def test_another_issuer_than_the_one_that_is_set_is_refused(
    real: CertifiedProvider, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ENV = replace(settings.ENV, oidc=_named(real.issuer.replace("127.0.0.1", "localhost")))
    client = Client()
    answer = client.get("/sign-in/oidc")
    assert answer.url == "/login"
    assert _why(caplog) == ["the identity provider names another issuer"]


def test_a_code_is_good_once(real: CertifiedProvider, caplog: pytest.LogCaptureFixture) -> None:
    client = Client()
    back = ProviderBrowser("ada").authorize(sent_away(client))
    client.get(back)
    client.post("/logout")
    client.get(back)
    assert (_is_in(client), _why(caplog)) == (False, ["the answer does not belong to a sign-in of this browser"])
