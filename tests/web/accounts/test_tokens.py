"""Tokens in the browser: made, shown once, revoked; another's do not exist."""

import re

import pytest
from django.urls import reverse

from migrations_app.models.account import ApiToken
from migrations_app.use_cases.accounts import tokens

pytestmark = pytest.mark.django_db


def made(client, **said):
    return client.post(reverse("tokens"), {"name": "ci", "days": "7", "scopes": ["read"]} | said)


def test_a_token_is_shown_once_and_works(ben):
    answer = made(ben, scopes=["read", "scan"]).content.decode()
    secret = re.search(r"<code>(kd_.+?)</code>", answer)[1]
    assert "http://testserver/api/v1/clusters" in answer
    assert tokens.authenticate(secret).scopes == ("read", "scan")
    assert secret not in ben.get(reverse("tokens")).content.decode()
    assert secret not in repr(ApiToken.objects.values())


@pytest.mark.parametrize(
    "said", [{"days": "91"}, {"days": "x"}, {"name": " "}, {"scopes": ["approve"]}, {"scopes": []}]
)
def test_what_is_no_token(ben, said):
    assert (made(ben, **said).status_code, ApiToken.objects.count()) == (422, 0)


def test_a_token_is_revoked_by_its_owner_alone(ben, cleo):
    made(ben)
    row = ApiToken.objects.get()
    address = reverse("token-revoke", args=[row.pk])
    assert (cleo.post(address).status_code, ben.get(address).status_code) == (404, 405)
    assert ben.post(address).status_code == 302
    row.refresh_from_db()
    assert row.revoked_at is not None
    assert "revoked" in ben.get(reverse("tokens")).content.decode()
