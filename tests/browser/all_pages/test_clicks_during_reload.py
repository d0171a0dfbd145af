"""A page that renews itself: what somebody presses at that moment stays where it is, so that the click counts."""

import pytest
from playwright.sync_api import expect

from tests.servers.waiting import eventually

ANSWERED = "window.answered = false; document.addEventListener('htmx:afterRequest', () => { window.answered = true; })"


@pytest.fixture
def polled(browse, fleet):
    """The page of the fleet with its poll under way, and what lets the poll be answered."""
    page = browse(viewport={"width": 1280, "height": 900})
    page.clock.install()
    page.goto("/")
    held = []
    page.route(page.url, lambda route: held.append(route))
    page.evaluate(ANSWERED)
    page.clock.run_for(31_000)

    def answer() -> None:
        while not held:
            page.wait_for_timeout(20)  # handlers of playwright run in its own calls
        held.pop().continue_()
        eventually(lambda: page.evaluate("window.answered"), what="the answer")

    return page, answer


def press(page, link) -> None:
    link.hover()
    page.mouse.down()


def test_a_link_pressed_while_the_answer_comes_is_followed(polled):
    page, answer = polled
    name = page.locator("#clusters").get_by_role("link", name="production", exact=True)
    press(page, name)
    answer()
    page.mouse.up()
    page.wait_for_url("**/clusters/*/")


def test_who_came_there_by_keys_stays_there(polled):
    page, answer = polled
    name = page.locator("#clusters").get_by_role("link", name="production", exact=True)
    name.focus()
    answer()
    expect(name).to_be_focused()


def test_otherwise_the_answer_takes_its_place(polled):
    page, answer = polled
    page.evaluate("document.querySelector('#clusters').dataset.old = 'yes'")
    answer()
    expect(page.locator("#clusters[data-old]")).to_have_count(0)


def test_the_end_of_a_scan_does_not_reload_what_is_pressed(browse, fleet):
    page = browse()
    page.goto(f"/clusters/{fleet['running'].pk}/")
    press(page, page.get_by_role("link", name="Catalogue").first)
    page.route("**/progress", lambda route: route.fulfill(status=200, headers={"HX-Refresh": "true"}, body=""))
    for _ in range(2):  # the second one comes when the first one was used
        page.wait_for_event("response", lambda response: response.url.endswith("/progress"))
    page.mouse.up()
    page.wait_for_url("**/catalogue/")


def test_what_is_pressed_for_long_is_renewed_in_the_end(browse, fleet):
    page = browse()
    page.goto(f"/clusters/{fleet['running'].pk}/")
    press(page, page.get_by_role("link", name="Catalogue").first)
    page.evaluate("document.querySelector('#progress').dataset.old = 'yes'")
    expect(page.locator("#progress[data-old]")).to_have_count(0)
