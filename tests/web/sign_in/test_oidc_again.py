"""The proof at the provider once more, before what cannot be undone (A44), and every answer that proves nothing."""

import time

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.models.account import Identity
from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.accounts.sign_in import SESSION_KEY, fresh_until
from tests.web.pages import text
from tests.web.sign_in.provider import callback_address, sent_away, signed_in

pytestmark = pytest.mark.django_db
AGAIN = "/sign-in/oidc/again"
FAILED = "/sign-in-again?next=%2Frollouts%2F"


@pytest.fixture
def olga(provider):
    client = Client()
    signed_in(client, provider)
    return client


def is_fresh(client) -> bool:
    return fresh_until(client.session.get(SESSION_KEY)) is not None


def proven(client, provider):
    return client.get(callback_address(client, provider, path=AGAIN, next="/rollouts/"))


def test_the_page_offers_the_provider_and_no_password(olga):
    page = olga.get("/sign-in-again", {"next": "/rollouts/"}).content.decode()
    assert ("Sign in again with the house" in page, 'type="password"' in page) == (True, False)


def test_an_account_with_a_password_is_not_offered_the_provider(provider, client):
    client.force_login(User.objects.create_user("ada", password="correct horse battery"))
    page = client.get("/sign-in-again").content.decode()
    assert ("Sign in again with" in page, 'type="password"' in page) == (False, True)


def test_without_either_the_page_says_whom_to_ask(olga, settings):
    Identity.objects.update(issuer="https://another.example")
    assert "ask your admin" in text(olga.get("/sign-in-again"))


def test_the_provider_is_to_ask_anew(olga):
    sent = olga.get(AGAIN).url
    assert ("prompt=login" in sent, "max_age=0" in sent) == (True, True)
    assert "prompt" not in sent_away(Client())


def test_the_same_person_asked_anew_is_fresh(olga, provider):
    before = olga.session.session_key
    assert (proven(olga, provider).url, is_fresh(olga), olga.session.session_key == before) == (
        "/rollouts/", True, False,
    )  # fmt: skip
    row = AuditEvent.objects.order_by("-seq").first()
    assert (row.verb, row.actor, row.outcome) == ("sign_in.again", "olga", "right")


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"auth_time": None}, id="not-said"),
        pytest.param({"auth_time": int(time.time()) - 3600}, id="an-hour-ago"),
        pytest.param({"auth_time": int(time.time()) + 36000}, id="of-tomorrow"),
        pytest.param({"auth_time": "now"}, id="no-number"),
        pytest.param({"auth_time": True}, id="yes"),
        pytest.param({"sub": "u-2"}, id="somebody-else"),
        pytest.param({"nonce": "another"}, id="wrong-nonce"),
        pytest.param({"exp": 1000}, id="expired"),
    ],
)
def test_an_answer_that_proves_nothing(olga, provider, claims):
    provider.next(claims=claims)
    assert (proven(olga, provider).url, is_fresh(olga)) == (FAILED, False)
    assert User.objects.count() == 1
    assert "did not succeed" in olga.get("/sign-in-again").content.decode()
    row = AuditEvent.objects.order_by("-seq").first()
    assert (row.verb, row.object) == ("sign_in.refused", "olga")


def test_the_answer_counts_once_and_for_that_person_only(olga, provider, admin_user):
    back = callback_address(olga, provider, path=AGAIN)
    kept = olga.session["oidc"]
    other = Client()
    other.force_login(admin_user)
    session = other.session
    session["oidc"] = kept
    session.save()
    assert (other.get(back).url, is_fresh(other)) == ("/sign-in-again?next=%2F", False)
    assert (olga.get(back).url, is_fresh(olga)) == ("/", True)
    assert (olga.get(back).url, Client().get(back).url) == ("/login", "/login")


def test_who_is_closed_in_the_middle_is_out(olga, provider):
    back = callback_address(olga, provider, path=AGAIN)
    User.objects.update(is_active=False)
    assert (olga.get(back).url, olga.get("/sign-in-again").status_code) == ("/login", 302)


def test_a_proof_is_no_sign_in(provider):
    assert Client().get(AGAIN).url.startswith("/login")
