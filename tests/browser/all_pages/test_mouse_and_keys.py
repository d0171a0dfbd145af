"""What people do with mouse and keys."""

import re

from playwright.sync_api import expect

from migrations_app.models.scan import Scan
from tests.browser.addresses import address
from tests.browser.conftest import PASSWORD
from tests.builders.rows import a_cluster


def test_sign_in_find_a_cluster_and_read_its_blocker(browse, fleet):
    page = browse(signed_in=False)
    page.goto("/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Search clusters", exact=True).fill("produ")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="production", exact=True).click()
    expect(page.get_by_role("heading", name="Not ready: 1 blocker")).to_be_visible()
    page.get_by_role("link", name="2 objects keep legacy provisioners gone").click()
    expect(page.get_by_text("The next release no longer serves the kind").first).to_be_visible()


def test_remedies_are_tabs_and_can_be_copied(browse, fleet):
    page = browse(permissions=["clipboard-read", "clipboard-write"])
    page.goto(address(fleet, "readiness"))
    row = page.locator("#next")
    expect(row.get_by_text("kubectl get provisioners")).to_be_visible()
    row.get_by_text("Helm", exact=True).click()
    expect(row.get_by_text("kubectl get provisioners")).to_be_hidden()
    row.get_by_role("button", name="Copy").locator("visible=true").click()
    expect(row.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("spec:\n  template:")


def test_keys_on_the_fleet_page(browse, fleet):
    page = browse()
    page.goto("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("jk?")
    expect(page.get_by_label("Search clusters", exact=True)).to_have_value("jk?")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/**")
    expect(page.get_by_role("heading", level=1)).to_have_text("partial")


def test_the_fleet_says_how_far_it_is_and_when_it_is_through(browse, fleet):
    page = browse()
    page.goto("/")
    line = page.locator(".fleet-line")
    expect(line).to_contain_text("of 5 clusters are on v1")
    expect(line).to_contain_text("No projected end: not everything that counts was ever read.")
    line.get_by_role("link", name="Progress by day").click()
    expect(page).to_have_url(re.compile("/burndown$"))


def test_go_keys(browse, fleet):
    page = browse()
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/catalogue/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="Karpenter can be upgraded today", level=1)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/clusters/new")


def test_keys_walk_and_open_checks(browse, fleet):
    page = browse()
    page.goto(address(fleet, "readiness"))
    expect(page.locator("#check-legacy_provisioners_gone")).to_have_attribute("open", "")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#check-helm_read")).to_have_attribute("open", "")


def test_the_list_of_keys_opens_and_closes(browse, fleet):
    page = browse()
    page.goto("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_first_tab_stop_skips_to_the_content(browse, fleet):
    page = browse()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_the_theme_is_kept_and_given_back_to_the_system(browse, fleet):
    page = browse(color_scheme="light")
    page.goto("/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Toggle theme").click()
    dark = page.evaluate(ground)
    page.goto("/catalogue/")
    assert (page.evaluate(ground), dark != light) == (dark, True)
    page.get_by_role("button", name="Toggle theme").click()
    assert page.evaluate(ground) == light
    assert page.evaluate("localStorage.length") == 0


def test_a_filter_applies_when_it_is_chosen(browse, fleet):
    page = browse()
    page.goto("/")
    page.get_by_label("Group by").select_option("flat")
    page.wait_for_url("**view=flat**")
    expect(page.locator("tr.group")).to_have_count(0)


def test_progress_is_live_and_the_page_reloads_at_the_end(browse, fleet):
    page = browse()
    page.goto(address(fleet, "running"))
    expect(page.get_by_text("7 of 27 data sources read")).to_be_visible()
    Scan.objects.update(progress={"parts_done": 20, "parts_total": 27, "now": "pods"})
    expect(page.get_by_text("20 of 27 data sources read")).to_be_visible()
    with page.expect_navigation():
        Scan.objects.update(state="done")
    expect(page.get_by_text("data sources read", exact=False)).to_have_count(0)
    # The newest result is out of date: a scan comes before all that was done.
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()


def test_the_connection_test_keeps_what_was_typed(browse):
    page = browse()
    page.goto("/clusters/new?way=paste")
    page.get_by_label("Kubeconfig", exact=True).fill("users: [{name: a, user: {exec: {command: id}}}]")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_text("Refused.", exact=True)).to_be_visible()
    expect(page.get_by_label("Kubeconfig", exact=True)).to_have_value(re.compile("^users"))


def test_removing_needs_the_typed_name(browse):
    cluster = a_cluster("shop-prod")
    page = browse()
    page.goto(f"/clusters/{cluster.pk}/remove")
    page.get_by_label("Type the cluster's name").fill("shop")
    page.get_by_role("button", name="Remove shop-prod").click()
    expect(page.get_by_text("The name does not match. Nothing was removed.")).to_be_visible()
    page.get_by_label("Type the cluster's name").fill("shop-prod")
    page.get_by_role("button", name="Remove shop-prod").click()
    expect(page.get_by_text("shop-prod is removed from karpdash.", exact=True)).to_be_visible()
