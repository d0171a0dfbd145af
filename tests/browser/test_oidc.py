"""To an identity provider and back in a real browser: policy of the pages, cookies, and proof once more (A44)."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.servers.identity_provider import IdentityProvider
from tests.web.sign_in.provider import named


@pytest.fixture
def house(settings, transactional_db):
    server = IdentityProvider()
    settings.ENV = replace(settings.ENV, oidc=named(server))
    yield server
    server.stop()


def test_a_person_signs_in_there_and_proves_it_once_more(house, browse):
    page = browse(signed_in=False)
    page.goto("/burndown")
    page.get_by_role("link", name="Sign in with the house").click()
    expect(page).to_have_url(re.compile("/burndown$"))
    page.goto("/sign-in-again?next=/catalogue/")
    page.get_by_role("link", name="Sign in again with the house").click()
    expect(page).to_have_url(re.compile("/catalogue/$"))
    house.next(claims={"auth_time": 1000})
    page.goto("/sign-in-again?next=/catalogue/")
    page.get_by_role("link", name="Sign in again with the house").click()
    expect(page.get_by_role("alert")).to_contain_text("did not succeed")
    expect(page.get_by_text("You are signed in as")).to_contain_text("olga")
