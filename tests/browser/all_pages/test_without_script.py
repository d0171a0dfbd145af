"""Everything but live updates works with script off."""

import pytest
from playwright.sync_api import expect

from migrations_app.models.scan import Scan
from tests.browser.addresses import PAGES, address


@pytest.fixture
def plain(browse):
    return browse(java_script_enabled=False)


def test_search_filter_and_open(plain, fleet):
    plain.goto("/")
    plain.get_by_role("link", name="Blocked 3").click()
    expect(plain.locator("tr.row")).to_have_count(3)
    plain.get_by_role("link", name="production", exact=True).click()
    expect(plain.get_by_role("heading", name="Not ready: 1 blocker")).to_be_visible()


def test_checks_unfold_and_remedies_turn(plain, fleet):
    plain.goto(address(fleet, "readiness"))
    row = plain.locator("#check-controller_off_bad_patches")
    row.locator("summary").click()
    expect(row.get_by_text("kubectl get provisioners")).to_be_visible()
    row.get_by_text("Helm", exact=True).click()
    expect(row.get_by_text("kubectl get provisioners")).to_be_hidden()


def test_ways_of_registering_turn(plain):
    plain.goto("/clusters/new")
    expect(plain.get_by_label("Bundle", exact=True)).to_be_hidden()
    plain.get_by_text("Upload a bundle").click()
    expect(plain.get_by_label("Bundle", exact=True)).to_be_visible()


def test_a_scan_can_be_started_and_the_page_says_how_to_go_on(plain, fleet, monkeypatch):
    monkeypatch.setattr("migrations_app.web.clusters.register.enqueue_scan", lambda scan_id: True)
    plain.goto(address(fleet, "readiness"))
    plain.get_by_role("button", name="Done, check again").click()
    expect(plain.get_by_text("A scan is queued.")).to_be_visible()
    expect(plain.get_by_role("link", name="Reload")).to_be_visible()
    assert Scan.objects.filter(cluster=fleet["production"], state="queued").count() == 1


def test_nothing_is_offered_that_needs_script(plain, fleet):
    for name in PAGES:
        plain.goto(address(fleet, name))
        assert (name, plain.locator(".needs-script:visible").count()) == (name, 0)
    plain.goto("/")
    expect(plain.get_by_text("Live updates need JavaScript")).to_be_visible()


def test_sign_out(plain, fleet):
    plain.goto("/")
    plain.get_by_text("ada", exact=True).first.click()
    plain.get_by_role("button", name="Sign out").click()
    expect(plain.get_by_role("heading", name="Sign in")).to_be_visible()
