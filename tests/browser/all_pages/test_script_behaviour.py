"""What the script adds for people: messages that leave, a list of stages that stays, and nothing typed that is lost."""

import pytest
from playwright.sync_api import expect

from tests.builders.rows import a_cluster, a_snapshot

PASTED = "apiVersion: v1\nkind: Config"
NARROW = {"width": 320, "height": 700}


def keep_view(page, name: str) -> None:
    page.goto("/")
    page.locator("summary", has_text="Views").click()
    page.get_by_label("Save view as").fill(name)
    page.get_by_role("button", name="Save view").click()


def test_a_message_of_what_worked_leaves_unless_it_is_being_read(browse, fleet):
    page = browse()
    page.clock.install()
    keep_view(page, "mine")
    toast = page.get_by_text("View mine saved.", exact=True)
    expect(toast).to_be_visible()
    toast.hover()
    page.clock.run_for(60_000)
    expect(toast).to_be_visible()
    page.mouse.move(0, 0)
    page.get_by_role("button", name="Close").focus()
    page.clock.run_for(60_000)
    expect(toast).to_be_visible()
    page.locator("#content").focus()
    page.clock.run_for(9_000)
    expect(toast).to_have_count(0)


def test_a_message_of_what_failed_stays_until_it_is_closed_by_keys(browse, fleet):
    page = browse()
    page.clock.install()
    keep_view(page, " ")
    toast = page.get_by_text("The view was not saved")
    expect(toast.first).to_be_visible()
    page.clock.run_for(600_000)
    expect(toast.first).to_be_visible()
    page.get_by_role("button", name="Close").focus()
    page.keyboard.press("Enter")
    expect(toast).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "content"


def test_without_script_messages_stay_in_the_page(browse, fleet):
    page = browse(java_script_enabled=False)
    keep_view(page, "mine")
    toast = page.locator(".toasts", has_text="View mine saved.")
    expect(toast).to_be_visible()
    assert toast.evaluate("one => getComputedStyle(one).position") == "static"
    expect(page.get_by_role("button", name="Close")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_of_stages_stays_in_sight(browse, fleet, width):
    page = browse(viewport={"width": width, "height": 700})
    page.goto(f"/clusters/{fleet['production'].pk}/plan")
    stages = page.get_by_role("navigation", name="Stages")
    last = stages.get_by_role("link").last
    last.click()
    expect(stages).to_be_in_viewport()
    expect(page.locator(last.get_attribute("href") or "#none")).to_be_in_viewport()


def test_the_ticks_of_a_runbook_are_kept_for_each_cluster(browse, fleet):
    page = browse()
    page.goto(f"/clusters/{fleet['production'].pk}/plan")
    ticks = page.get_by_role("navigation", name="Stages").get_by_role("checkbox")
    ticks.nth(1).check()
    page.reload()
    assert [ticks.nth(place).is_checked() for place in range(3)] == [False, True, False]
    page.goto(f"/clusters/{fleet['running'].pk}/plan")
    assert [ticks.nth(place).is_checked() for place in range(3)] == [False] * 3


@pytest.mark.parametrize("name", ["", "plan", "history", "parts", "nodes", "connection"])
def test_pages_of_a_cluster_fit_a_screen_of_320_pixels(browse, fleet, name):
    page = browse(viewport=NARROW)
    page.goto(f"/clusters/{fleet['production'].pk}/{name}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_every_link_of_both_navigations_is_in_sight(browse, fleet, width):
    """None is hidden in a part that scrolls sideways, where nothing shows that there is more."""
    page = browse(viewport={"width": width, "height": 844})
    page.goto(f"/clusters/{fleet['production'].pk}/nodes")
    for name, count in (("Main", 5), ("About this cluster", 8)):
        links = page.get_by_role("navigation", name=name).get_by_role("link")
        expect(links).to_have_count(count)
        boxes = [link.bounding_box() for link in links.all()]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    page.evaluate("window.scrollTo(0, 600)")
    expect(page.get_by_role("navigation", name="Where you are")).to_be_in_viewport()


def test_what_was_pasted_survives_a_refusal_of_the_connection_page(browse, fleet):
    page = browse()
    cluster = a_cluster("live", source="kubeconfig", server="https://127.0.0.1:9")
    page.goto(f"/clusters/{cluster.pk}/connection")
    page.get_by_text("Use another kubeconfig").click()
    page.get_by_label("New kubeconfig").fill(PASTED)
    page.get_by_label("The cluster's name").fill("another")
    for button in ("Test it only", "Test and save"):
        page.get_by_role("button", name=button).first.click()
        expect(page.locator("#credentials .problem, #credentials .is-blocker:visible").first).to_be_visible()
        assert page.get_by_label("New kubeconfig").input_value() == PASTED
        assert page.get_by_label("The cluster's name").input_value() == "another"
    expect(page.get_by_text("paste the kubeconfig again")).to_have_count(0)


@pytest.mark.parametrize("width", [720, 780, 830])
def test_the_fleet_fits_a_tablet(browse, fleet, width):
    page = browse(viewport={"width": width, "height": 900})
    page.goto("/")
    expect(page.get_by_role("link", name="production", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1440, 1180, 1100, 1000])
def test_the_table_of_the_fleet_is_no_wider_than_its_card(browse, fleet, width):
    a_snapshot(fleet["running"], stage="mixed", karpenter_version="0.32.10")
    page = browse(viewport={"width": width, "height": 800})
    page.goto("/")
    assert page.evaluate("""() => {
      const table = document.querySelector("table.fleet"), card = table.closest(".fleet-card");
      return [table.offsetWidth <= card.clientWidth, document.documentElement.scrollWidth];
    }""") == [True, width]


def test_on_a_phone_the_bulk_bar_leaves_half_of_the_rows_in_sight(browse, fleet):
    page = browse(viewport=NARROW)
    page.goto("/")
    page.locator(".pick").first.check()
    bar = page.locator("#hands")
    expect(bar).to_be_visible()
    assert bar.bounding_box()["height"] <= NARROW["height"] / 2
    bar.get_by_role("button", name="Apply label").scroll_into_view_if_needed()
    expect(bar.get_by_role("button", name="Apply label")).to_be_in_viewport()


def test_beside_the_button_of_a_banner_there_is_room_for_its_words(browse, fleet):
    page = browse(viewport=NARROW)
    page.goto(f"/clusters/{fleet['partial'].pk}/")
    body = page.locator(".banner.is-unknown .banner-body")
    assert body.first.bounding_box()["width"] >= NARROW["width"] / 2
