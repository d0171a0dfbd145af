"""Sign-in at a real identity provider on loopback, and every token that does not hold."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from migrations_app.models.account import Grant, Identity
from migrations_app.models.audit import AuditEvent
from tests.builders.rows import a_cluster
from tests.servers.identity_provider import CLIENT
from tests.web.pages import text
from tests.web.sign_in.provider import callback_address, sent_away, signed_in

pytestmark = pytest.mark.django_db


def is_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_a_person_signs_in_with_the_teams_that_count(provider):
    Grant.objects.create(team=Group.objects.create(name="night"), role="viewer")
    a_cluster("shop")
    client = Client()
    answer = signed_in(client, provider, next="/waivers/")
    assert (answer.status_code, answer.url, is_in(client)) == (302, "/waivers/", True)
    olga = User.objects.get()
    assert (olga.username, olga.has_usable_password(), [one.name for one in olga.groups.all()]) == (
        "olga", False, ["night"],
    )  # fmt: skip
    assert Identity.objects.values_list("issuer", "subject").get() == (provider.issuer, "u-1")
    assert "shop" in client.get("/").content.decode()
    verbs = list(AuditEvent.objects.order_by("seq").values_list("verb", flat=True))
    assert verbs == ["account.made", "account.teams", "sign_in.done"]


def test_the_browser_is_sent_with_pkce_state_and_nonce(provider):
    query = parse_qs(urlsplit(sent_away(Client())).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == ["http://testserver/sign-in/oidc/back"]
    assert [len(query[name][0]) >= 43 for name in ("state", "nonce", "code_challenge")] == [True, True, True]


def test_teams_follow_the_provider_at_each_sign_in(provider):
    signed_in(Client(), provider)
    for groups, teams in ((["kd-day"], ["day"]), (["wine"], []), (None, [])):
        provider.next(claims={"groups": groups})
        assert is_in_after(provider)
        assert [one.name for one in User.objects.get().groups.all()] == teams


def is_in_after(provider) -> bool:
    client = Client()
    signed_in(client, provider)
    return is_in(client)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"header": {"alg": "none"}, "signing": "none"}, id="no-signature"),
        pytest.param({"signing": "none"}, id="empty-signature"),
        pytest.param({"header": {"alg": "HS256"}, "signing": "hs256_public"}, id="hmac-with-the-public-key"),
        pytest.param({"header": {"alg": "HS256"}, "signing": "hs256_secret"}, id="hmac-with-the-client-secret"),
        pytest.param({"signing": "other_key"}, id="another-key"),
        pytest.param({"header": {"kid": None}}, id="no-kid"),
        pytest.param({"header": {"kid": "two"}}, id="unknown-kid"),
        pytest.param({"header": {"kid": 1}}, id="kid-that-is-no-text"),
        pytest.param({"header": {"alg": None}}, id="no-alg"),
        pytest.param({"header": {"alg": "ES256"}}, id="alg-of-another-kind-of-key"),
        pytest.param({"claims": {"aud": "somebody-else"}}, id="wrong-aud"),
        pytest.param({"claims": {"aud": "somebody-else", "azp": CLIENT}}, id="wrong-aud-with-our-azp"),
        pytest.param({"claims": {"aud": [CLIENT, "other"]}}, id="shared-without-azp"),
        pytest.param({"claims": {"iss": "https://evil.example"}}, id="wrong-iss"),
        pytest.param({"claims": {"nonce": "another"}}, id="wrong-nonce"),
        pytest.param({"claims": {"exp": 1000}}, id="expired"),
        pytest.param({"claims": {"iat": 99999999999}}, id="of-tomorrow"),
        *(pytest.param({"claims": {name: None}}, id=f"no-{name}") for name in ("aud", "iss", "nonce", "exp", "sub")),
        pytest.param({"claims": {"preferred_username": None}}, id="no-name"),
        pytest.param({"claims": {"preferred_username": "a\u202eb"}}, id="name-that-turns-round"),
        pytest.param({"claims": {"groups": "kd-night"}}, id="groups-that-are-no-list"),
        pytest.param({"claims": {"groups": [1]}}, id="groups-that-are-no-texts"),
        pytest.param({"issuer": "https://evil.example"}, id="discovery-of-another-issuer"),
    ],
)
def test_a_token_that_does_not_hold_is_refused(provider, told):
    client = Client()
    back = callback_address(client, provider)
    provider.next(**told)
    answer = client.get(back)
    assert (answer.status_code, answer.url, is_in(client)) == (302, "/login", False)
    assert (User.objects.count(), Identity.objects.count()) == (0, 0)
    assert AuditEvent.objects.get().verb == "sign_in.refused"
    assert "did not succeed" in client.get("/login").content.decode()


def test_an_answer_counts_once_and_only_in_the_browser_that_asked(provider):
    client, other = Client(), Client()
    back = callback_address(client, provider)
    sent_away(other)
    assert (other.get(back).url, is_in(other)) == ("/login", False)
    client.get(back)
    client.post("/logout")
    assert (client.get(back).url, is_in(client)) == ("/login", False)


@pytest.mark.parametrize("query", ["", "?state=x", "?code=x", "?code=x&state=", "?error=access_denied&state=x"])
def test_answers_that_are_none(provider, query):
    client = Client()
    sent_away(client)
    assert (client.get(f"/sign-in/oidc/back{query}").url, is_in(client)) == ("/login", False)


def test_an_account_with_a_password_is_never_taken_over(provider):
    User.objects.create_superuser("Olga", email="olga@example.org", password="correct horse battery")
    client = Client()
    signed_in(client, provider)
    assert (is_in(client), User.objects.count(), Identity.objects.count()) == (False, 1, 0)


def test_the_subject_tells_who_it_is_and_not_the_name(provider):
    signed_in(Client(), provider)
    provider.next(claims={"preferred_username": "olga-renamed"})
    assert (is_in_after(provider), User.objects.get().username) == (True, "olga")
    provider.next(claims={"sub": "u-2"})
    assert (is_in_after(provider), User.objects.count()) == (False, 1)


def test_a_closed_account_stays_out(provider):
    signed_in(Client(), provider)
    User.objects.update(is_active=False)
    assert not is_in_after(provider)


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_to_another_site_afterwards(provider, wanted):
    assert signed_in(Client(), provider, next=wanted).url == "/"


def test_a_provider_that_is_away_is_told(provider, settings):
    settings.ENV = replace(settings.ENV, oidc=replace(settings.ENV.oidc, issuer="http://127.0.0.1:9"))
    assert Client().get("/sign-in/oidc").url == "/login"


def test_a_provider_in_clear_elsewhere_is_not_used(provider):
    provider.next(discovery={"token_endpoint": "http://192.0.2.1/token"})
    back = provider.authorize(f"{provider.issuer}/authorize?{urlsplit(sent_away(Client())).query}")
    assert Client().get(back.removeprefix("http://testserver")).url == "/login"


@pytest.mark.parametrize(("site", "leads"), [("cross-site", "/login"), ("same-site", "/login"), ("same-origin", "")])
def test_a_link_on_another_site_signs_nobody_in(provider, site, leads):
    answer = Client().get("/sign-in/oidc", headers={"Sec-Fetch-Site": site})
    assert (answer.status_code, answer.url) == (302, leads) if leads else answer.url.startswith(provider.issuer)


def test_without_the_settings_it_is_off(db):
    client = Client()
    assert [client.get(f"/sign-in/oidc{path}").status_code for path in ("", "/back")] == [404, 404]
    assert "Sign in with" not in client.get("/login").content.decode()


def test_the_sign_in_page_offers_it(provider):
    assert "Sign in with the house" in text(Client().get("/login", {"next": "/waivers/"}))
