"""One whole task with the keyboard alone: the fleet, a blocked cluster, the command of its next step, check again."""

import re

from playwright.sync_api import Locator, Page, expect

from migrations_app.models.scan import Scan

MAX_STOPS = 60
"""Stops of the Tab key from the top of a page to what somebody wants, at most."""
STOP = """(before) => {
  const here = document.activeElement;
  if (here === document.body) return "nothing has the focus";
  const seen = [getComputedStyle(here), getComputedStyle(here, "::after")];
  if (here.type === "radio") seen.push(getComputedStyle(here.nextElementSibling));
  const lined = seen.some((look) => look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2);
  const at = (here.type === "radio" ? here.nextElementSibling : here).getBoundingClientRect();
  const inView = at.bottom > 0 && at.top < innerHeight && at.right > 0 && at.left < innerWidth;
  const later = !before || before === document.body || !before.isConnected
    || Boolean(before.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING);
  const wrong = [[lined, "no outline"], [inView, "out of sight"], [later, "goes back"]].filter(([fine]) => !fine);
  return wrong.map(([, told]) => `${told}: ${here.outerHTML.slice(0, 150)}`).join("; ");
}"""


def tab_to(page: Page, wanted: Locator) -> int:
    """Presses Tab until it has the focus: every stop on the way is seen, and none is before the last one."""
    for stops in range(1, MAX_STOPS + 1):
        before = page.evaluate_handle("document.activeElement")
        page.keyboard.press("Tab")
        assert page.evaluate(STOP, before) == ""
        if wanted.evaluate("(element) => element === document.activeElement"):
            return stops
    raise AssertionError(f"no stop in {MAX_STOPS}: {wanted}")


def test_a_blocker_from_the_fleet_to_the_next_scan(browse, fleet, monkeypatch):
    monkeypatch.setattr("migrations_app.web.clusters.register.enqueue_scan", lambda _scan: True)
    page = browse(permissions=["clipboard-read", "clipboard-write"])
    page.goto("/")
    tab_to(page, page.get_by_role("link", name=re.compile("Fix next blocker.*production")))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/clusters/{fleet['production'].pk}/**")
    # The tabs of tools are one stop, and arrows walk along them; the choice is kept with the account.
    step = page.locator("#next")
    tab_to(page, step.get_by_role("radio").first)
    with page.expect_response("**/settings/tool") as kept:
        page.keyboard.press("ArrowRight")
    assert kept.value.status == 302
    expect(step.get_by_role("radio", name="Helm", exact=True)).to_be_focused()
    copy = step.get_by_role("button", name="Copy").locator("visible=true")
    tab_to(page, copy)
    page.keyboard.press("Enter")
    expect(step.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("spec:\n  template:")
    tab_to(page, page.get_by_role("button", name="Done, check again"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="A scan is running")).to_be_visible()
    assert Scan.objects.filter(cluster=fleet["production"], state="queued").count() == 1
