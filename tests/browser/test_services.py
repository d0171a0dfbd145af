"""The pages of service accounts: no barrier, nothing beyond the edge of a phone, and one made by hand."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.service import ServiceAccountRow
from tests.browser.barriers import WIDTHS, faults

PAGE = "/settings/services"


@pytest.mark.parametrize("width", WIDTHS)
def test_one_is_made_gets_a_token_and_nothing_is_in_the_way(browse, width):
    ClusterGroup.objects.create(name="production in eu-west-1")
    page = browse(viewport={"width": width, "height": 800})
    page.goto(PAGE)
    page.get_by_label("Name (small letters").fill("prometheus")
    page.get_by_label("every cluster").check()
    page.get_by_label("metrics", exact=True).check()
    page.get_by_label("Networks, one a line").fill("192.0.2.0/24\n2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("prometheus")
    page.get_by_label("Name of the token").fill("scrape")
    page.get_by_label("Without an end").check()
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("status").filter(has_text="without an end")).to_contain_text("kd_")
    for name, path in (("made", ""), ("list", PAGE)):
        if path:
            page.goto(path)
        if folder := os.environ.get("KARPDASH_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"services-{name}-{width}.png", full_page=True)
        assert (name, faults(page)) == (name, [])
    assert ServiceAccountRow.objects.get().networks[0] == "192.0.2.0/24"
