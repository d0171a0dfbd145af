"""A part that asks again by itself: an answer that fails, or does not come, is told; without script it has its time."""

import re

import pytest
from playwright.sync_api import expect

from tests.builders_rows import a_cluster, a_report, a_scan, a_snapshot

TOLD = re.compile(r"No answer from karpdash since \d\d:\d\d:\d\d UTC: what you see is old\.")


@pytest.fixture
def shop(transactional_db):
    cluster = a_cluster("shop")
    a_snapshot(cluster, a_report())
    a_scan(cluster, state="running")
    return f"/clusters/{cluster.pk}/"


def test_a_poll_that_fails_is_told_and_taken_back(browse, shop):
    page = browse()
    page.goto(shop)
    expect(page.locator("#progress")).to_contain_text("Scanning.")
    expect(page.locator("[data-unheard]")).to_be_hidden()
    page.route("**/progress", lambda route: route.fulfill(status=404))
    expect(page.locator("[data-unheard]")).to_have_text(TOLD, use_inner_text=True)
    page.unroute("**/progress")
    expect(page.locator("[data-unheard]")).to_be_hidden()


def test_a_poll_without_an_answer_is_told(browse, shop):
    page = browse()
    page.route("**/progress", lambda _route: None)
    page.goto(shop)
    expect(page.locator("[data-unheard]")).to_have_text(TOLD, use_inner_text=True, timeout=15_000)


def test_without_script_the_picture_has_its_time(browse, shop):
    page = browse(java_script_enabled=False)
    page.goto(shop)
    expect(page.locator("#progress")).to_contain_text(re.compile(r"Seen at \d\d:\d\d:\d\d UTC"))
    expect(page.get_by_role("link", name="Reload").first).to_be_visible()
