"""The pages of the schema, in a real browser under our content security policy."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

SCHEMA = Path(__file__).parents[2] / "docs/schema/openapi-v1.yaml"
TAGS = sorted(set(re.findall(r"^      tags:\n      - (\S+)$", SCHEMA.read_text(), re.MULTILINE)))


@pytest.fixture
def page(opened: Browser, live_server: LiveServer, transactional_db: None) -> Iterator[Page]:
    """A tab that is signed in."""
    client = Client()
    client.force_login(User.objects.create_superuser("docs-reader"))
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    context = opened.new_context()
    context.add_cookies([cookie])  # type: ignore[list-item]  # a plain dictionary will do
    yield context.new_page()
    context.close()


def test_the_pages_show_every_tag_and_load_nothing_from_outside(page: Page, live_server: LiveServer) -> None:
    refused: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None)
    page.on("request", lambda request: asked.append(request.url))
    # Swagger UI draws only what is in sight once there are this many operations.
    page.set_viewport_size({"width": 1280, "height": 20_000})
    page.goto(f"{live_server.url}/api/v1/docs/")
    expect(page.locator(".opblock-tag")).to_have_count(len(TAGS))
    tags = [tag.get_attribute("data-tag") for tag in page.query_selector_all(".opblock-tag")]
    assert sorted(filter(None, tags)) == TAGS
    assert "rollouts" in TAGS
    assert (refused, [url for url in asked if not url.startswith((live_server.url, "data:"))]) == ([], [])
