"""A part that asks again by itself: an answer that fails, or does not come, is told; without script it has its time.

A page that reloads by itself does not hold back somebody who is already on the way to another one.
"""

import re
import time

import pytest
from playwright.sync_api import expect

from tests.builders.rows import a_cluster, a_report, a_scan, a_snapshot

TOLD = re.compile(r"Disconnected since \d\d:\d\d:\d\d UTC; data may be stale\.")


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
    expect(page.locator("[data-unheard]")).to_have_text(TOLD, use_inner_text=True)


def test_a_scan_that_ends_does_not_call_a_reader_back(browse, shop):
    page = browse()
    page.goto(shop)
    asked = []

    def ended(route):
        asked.append(time.monotonic())
        route.fulfill(status=200, headers={"HX-Refresh": "true"}, body="")

    def slow(route):
        before = len(asked)
        while len(asked) == before:  # the part asks while the new page is still on its way
            page.wait_for_timeout(50)
        page.wait_for_timeout(200)
        route.continue_()

    page.route("**/catalogue/", slow)
    page.get_by_role("link", name="Catalogue").first.hover()
    page.route("**/progress", ended)
    page.get_by_role("link", name="Catalogue").first.click(no_wait_after=True)
    page.wait_for_url("**/catalogue/")
    assert asked


def test_without_script_the_picture_has_its_time(browse, shop):
    page = browse(java_script_enabled=False)
    page.goto(shop)
    expect(page.locator("#progress")).to_contain_text(re.compile(r"Seen at \d\d:\d\d:\d\d\s+UTC"))
    expect(page.get_by_role("link", name="Reload").first).to_be_visible()
