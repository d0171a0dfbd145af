"""Eight of ten tasks of a newcomer, each with the number of clicks that it may take from the first page on.

The two that need an API server are in `test_tasks_on_server.py`.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.clicks import Clicks, link
from tests.builders.rollouts import a_rollout
from tests.use_cases.audit.signed_log import write

NEXT = re.compile("Fix next blocker.*production")


@pytest.fixture
def task(browse, fleet, ada):
    """Begins a task on the fleet page; ends it with the limit of its clicks."""
    page = browse(viewport={"width": 1280, "height": 900})

    def begin() -> Clicks:
        page.goto("/")
        return Clicks(page)

    return begin


def test_what_can_be_upgraded_and_what_blocks_the_rest(task, fleet):
    clicks = task()
    page = clicks.page
    # a. The answer and the first blockers stand on the first screen, without a click or a scroll.
    expect(page.get_by_role("heading", level=1)).to_have_text("Karpenter can be upgraded today on 0 of 5 clusters")
    blocker = page.get_by_text("2 objects keep legacy provisioners gone from being true").first
    expect(blocker).to_be_in_viewport()
    expect(page.locator("#clusters time").first).to_have_attribute("title", re.compile(r" UTC, here \d"))
    assert clicks.made == []
    # b. The command of the next thing.
    clicks.on(page.get_by_role("link", name=NEXT))
    expect(page.get_by_text("Do this now")).to_be_in_viewport()
    expect(page.locator("#next pre").first).to_contain_text("kubectl get provisioners")
    assert len(clicks.made) == 1
    # c. The tool is chosen once, and remembered on the next cluster and in every browser.
    with page.expect_response("**/settings/tool") as kept:
        clicks.on(page.locator("#next label", has_text=re.compile(r"^\s*Helm\s*$")))
    assert kept.value.status == 302
    assert page.evaluate("Object.keys(localStorage)") == []
    page.goto(f"/clusters/{fleet['running'].pk}/")
    expect(page.locator("#next pre").nth(1)).to_be_visible()


def test_the_way_to_reports(task, fleet):
    # d. The runbook of the next upgrade as a file.
    clicks = task()
    clicks.on(clicks.page.get_by_role("link", name=NEXT))
    clicks.on(link(clicks.page, "Open runbook"))
    with clicks.page.expect_download() as runbook:
        clicks.on(link(clicks.page, "Download runbook (.md)"))
    assert runbook.value.suggested_filename.endswith("-plan.md")
    assert len(clicks.made) == 3
    # e. The fleet as a file.
    clicks = task()
    with clicks.page.expect_download() as table:
        clicks.on(link(clicks.page, "CSV"))
    assert (table.value.suggested_filename.startswith("fleet-"), len(clicks.made)) == (True, 1)
    # f. The progress, to be shown to a manager.
    clicks = task()
    clicks.on(clicks.page.get_by_role("link", name="Progress", exact=True))
    expect(clicks.page.get_by_role("heading", name="Progress", exact=True)).to_be_visible()
    assert len(clicks.made) == 1


def test_what_to_fix_once_and_who_did_what(task, fleet):
    # g. The cause that blocks most clusters.
    clicks = task()
    clicks.on(link(clicks.page, "Causes"))
    expect(clicks.page.locator("tr[data-row]").first).to_contain_text("legacy_provisioners_gone")
    assert len(clicks.made) == 1
    # h. Who did what yesterday.
    write(verb="scan.requested")
    clicks = task()
    clicks.on(link(clicks.page, "Audit"))
    clicks.on(clicks.page.get_by_role("link", name="Yesterday"))
    expect(clicks.page.get_by_text("No matching events")).to_be_visible()
    assert len(clicks.made) == 2


def test_a_paused_rollout_is_one_click_away_and_so_is_everything_by_keys(task, fleet):
    # i. From any page to the rollout that waits.
    a_rollout(fleet["production"], state="paused", title="Roll nodes")
    clicks = task()
    clicks.on(link(clicks.page, "Roll nodes"))
    expect(clicks.page.get_by_role("heading", name="Paused")).to_be_visible()
    assert len(clicks.made) == 1
    # j. To a cluster by keys alone.
    page = task().page
    page.keyboard.press("Control+k")
    page.keyboard.type("produc")
    expect(page.locator("#found a").first).to_have_text("production production")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/clusters/{fleet['production'].pk}/$"))
