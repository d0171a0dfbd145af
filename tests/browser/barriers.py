"""What keeps somebody from using a page: rules of axe that it breaks, and what stands beyond the edge of the screen."""

import json
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WIDTHS = (1280, 390)
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_EVERY_RULE = {"runOnly": _TAGS, "resultTypes": ["violations"]}
# A theme is a set of colours (tests/web/test_stylesheet.py), so no other rule can tell one from the other.
_RULES_OF_COLOUR = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "resultTypes": ["violations"],
}
# Contrast takes most of axe's time, and rows of a table are alike: three of each kind of text are measured, where a
# kind is everything that decides about contrast: its own style, the grounds that its ancestors paint below it, and what
# else is laid out across it.
_MARK_KINDS_OF_TEXT = """() => {
  const grounds = new Map([[null, ""]]), counts = new Map();
  const ground = one => {
    if (!grounds.has(one)) {
      const style = getComputedStyle(one);
      const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.position,
                   style.clip, one.matches(":disabled, [aria-disabled=true]")].join();
      const plain = "rgba(0, 0, 0, 0),none,1,none,static,auto,false";
      grounds.set(one, ground(one.parentElement) + (own === plain ? "" : own + "/"));
    }
    return grounds.get(one);
  };
  // What is not laid out in its turn may lie under text or over it that it has nothing else to do with.
  const placed = [...document.querySelectorAll("body *")]
    .filter(one => getComputedStyle(one).position !== "static" && one.checkVisibility())
    .map(one => [one, one.getBoundingClientRect()]);
  const across = (one, box) => placed.flatMap(([other, its], number) =>
    !other.contains(one) && !one.contains(other) && its.left < box.right && box.left < its.right
    && its.top < box.bottom && box.top < its.bottom ? [number] : []).join();
  for (const one of document.querySelectorAll("body, body *")) {
    delete one.dataset.contrast;
    const says = [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!(says || one.matches("input, select, textarea")) || !one.checkVisibility({visibilityProperty: true})) continue;
    const style = getComputedStyle(one);
    const letters = [style.color, style.fontSize, style.fontWeight, style.textShadow];
    const kind = [one.localName, ...letters, ground(one), across(one, one.getBoundingClientRect())].join("|");
    counts.set(kind, (counts.get(kind) || 0) + 1);
    if (counts.get(kind) <= 3) one.dataset.contrast = "";
  }
  axe.configure({rules: [{id: "color-contrast", selector: "[data-contrast]"}]});
}"""
_UNFOLD = "for (const fold of document.querySelectorAll('main details:not(.menu)')) fold.open = true"
_WIDER_THAN_BUTTON = """() => [...document.querySelectorAll(".button")]
  .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"""

Barrier = tuple[str, list[Any]]


def barriers(page: Page) -> list[Barrier]:
    """The rules that the page breaks, with the first places; a page that passed next to no rule was not looked at."""
    page.evaluate(AXE_SCRIPT)
    return _violations(page, _EVERY_RULE, passes=15)


def barriers_in_each_theme(page: Page) -> list[Barrier]:
    """The rules that the page breaks in light colours, and those of colours that it breaks in dark ones.

    The page wants no motion: colours on their way from one theme to the other would be measured.
    """
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = barriers(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return found + barriers_of_colour(page)


def barriers_of_colour(page: Page) -> list[Barrier]:
    """The rules of colours that the page breaks as it is now."""
    page.evaluate(AXE_SCRIPT)
    return _violations(page, _RULES_OF_COLOUR, passes=0)


def faults(page: Page) -> list[Barrier | int]:
    """What is wrong with this page in either theme, everything unfolded; a number is a width beyond the screen's."""
    page.evaluate(_UNFOLD)
    wide = page.evaluate("document.documentElement.scrollWidth")
    screen = (page.viewport_size or {})["width"]
    return [*barriers_in_each_theme(page), *cut_buttons(page), *([wide] if wide != screen else [])]


def cut_buttons(page: Page) -> list[Barrier]:
    """The texts of buttons that are wider than their button."""
    texts = page.evaluate(_WIDER_THAN_BUTTON)
    return [("text-wider-than-button", texts)] if texts else []


def _violations(page: Page, options: dict[str, Any], *, passes: int) -> list[Barrier]:
    page.evaluate(_MARK_KINDS_OF_TEXT)
    answer = page.evaluate(f"axe.run(document, {json.dumps(options)})")
    assert len(answer["passes"]) > passes
    return [(rule["id"], [node["target"] for node in rule["nodes"]][:4]) for rule in answer["violations"]]
