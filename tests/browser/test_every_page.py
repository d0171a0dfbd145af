"""Each page in each theme: no barrier that axe knows, nothing beyond the edge of a phone, no error in the console."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.addresses import PAGES, address

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
THEMES = ("light", "dark")
WIDTHS = (1280, 390)


def barriers(page):
    """What axe finds; a page that passed next to no rule was not looked at."""
    answer = Axe().run(page, options=RULES).response
    assert len(answer["passes"]) > 15
    return [(rule["id"], [node["target"] for node in rule["nodes"]][:4]) for rule in answer["violations"]]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, fleet, theme, width):
    page = browse(color_scheme=theme, viewport={"width": width, "height": 800})
    for name in PAGES:
        page.goto(address(fleet, name))
        page.evaluate("for (const fold of document.querySelectorAll('main details:not(.menu)')) fold.open = true")
        assert (name, barriers(page)) == (name, [])
        assert (name, page.evaluate("document.documentElement.scrollWidth")) == (name, width)


@pytest.mark.parametrize("theme", THEMES)
def test_the_sign_in_and_an_empty_fleet(browse, theme):
    page = browse(color_scheme=theme, signed_in=False)
    page.goto("/login")
    assert barriers(page) == []
    page = browse(color_scheme=theme)
    page.goto("/")
    assert barriers(page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_open_menus_and_the_list_of_keys(browse, fleet, theme):
    page = browse(color_scheme=theme)
    page.goto(address(fleet, "readiness"))
    page.get_by_text("Manage", exact=True).click()
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert barriers(page) == []


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
