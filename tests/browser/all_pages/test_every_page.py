"""Each page in each theme: no barrier that axe knows, nothing beyond the edge of a phone, no error in the console."""

import pytest

from tests.browser.addresses import PAGES, address
from tests.browser.barriers import WIDTHS, barriers_in_each_theme, cut_buttons, faults


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, fleet, width):
    page = browse(viewport={"width": width, "height": 800})
    for name in PAGES:
        page.goto(address(fleet, name))
        assert (name, faults(page)) == (name, [])


def test_the_sign_in_and_an_empty_fleet(browse):
    page = browse(signed_in=False)
    page.goto("/login")
    assert faults(page) == []
    page = browse()
    page.goto("/")
    assert barriers_in_each_theme(page) == []


def test_open_menus_and_the_list_of_keys(browse, fleet):
    page = browse()
    page.goto(address(fleet, "readiness"))
    page.get_by_text("Manage", exact=True).click()
    assert barriers_in_each_theme(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert barriers_in_each_theme(page) == []


def test_a_barrier_of_either_theme_is_found(browse):
    page = browse(viewport={"width": 390, "height": 800})
    page.goto("/")
    for theme, style in (("light", "light-dark(#eee, #fff)"), ("dark", "light-dark(#000, #111)")):
        page.evaluate("style => { document.querySelector('main h1').style.color = style }", style)
        assert [rule for rule, _ in faults(page)] == ["color-contrast"], theme
    page.evaluate("document.querySelector('main h1').style = 'width: 800px'")
    assert [wide for wide in faults(page) if isinstance(wide, int)] != []
    narrow = "'white-space: nowrap; width: 20px'"
    page.evaluate(f"for (const one of document.querySelectorAll('.button')) one.style = {narrow}")
    assert [rule for rule, *_ in cut_buttons(page)] == ["text-wider-than-button"]


def test_nothing_moves_for_those_who_want_no_motion(browse, fleet):
    page = browse(reduced_motion="reduce")
    page.goto(address(fleet, "running"))
    assert page.evaluate("document.getAnimations().length") == 0


def test_nothing_comes_from_outside(browse, fleet, live_server):
    page = browse()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("fleet", "readiness", "nodes"):
        page.goto(address(fleet, name))
    assert asked
    assert [url for url in asked if not url.startswith(live_server.url)] == []
