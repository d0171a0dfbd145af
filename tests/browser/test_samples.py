"""A newcomer with a browser: a sample cluster is planned, approved by the second person, rolled, watched and audited.

One installation with real processes, which is killed in the middle once.
"""

import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.office import LONG, SETTINGS, WORD
from tests.journeys.running import Up, kill
from tests.servers import processes

pytestmark = [pytest.mark.timeout(600), pytest.mark.own_processes]
NEXT = "#sample-next"
OPERATOR, APPROVER = "sample-operator", "sample-approver"


@pytest.fixture
def up() -> Iterator[Up]:
    folder = processes.folder("s")
    found = Up(folder, settings=SETTINGS | {"scan_interval": "3600"}).start()
    try:
        yield found.serving()
    finally:
        left = found.family()
        found.end()
        kill(left)
        processes.discard(folder)


@pytest.fixture
def page(opened: Browser, up: Up) -> Iterator[Page]:
    context, errors = opened.new_context(base_url=up.address, viewport={"width": 1280, "height": 900}), []
    found = context.new_page()
    found.on("pageerror", lambda error: errors.append(str(error)))
    yield found
    context.close()
    assert errors == []


def opened_sample(page: Page, name: str) -> None:
    page.goto("/samples/")
    page.locator("main").get_by_role("link", name=name, exact=True).last.click()


def click(page: Page, name: str) -> None:
    """Clicks what the box of the next thing offers, as soon as it does."""
    page.locator(NEXT).get_by_role("button", name=name).or_(page.locator(NEXT).get_by_role("link", name=name)).click()


def rolled(page: Page, sample: str, *, plan: str = "Plan it") -> None:
    """One step of the path from its button to its end, by both people."""
    click(page, plan)
    expect(page.locator(WORD)).to_contain_text("Previewed", timeout=LONG)
    page.get_by_role("button", name="Ask for approval").click()
    opened_sample(page, sample)
    click(page, f"Go on as {APPROVER}")
    typed = page.get_by_label("Type the cluster’s name")
    if typed.count():
        typed.first.fill(sample)
    page.get_by_role("button", name="Approve", exact=True).click()
    opened_sample(page, sample)
    click(page, f"Go on as {OPERATOR}")
    page.get_by_role("button", name=re.compile("^Start")).first.click()
    expect(page.locator(WORD)).to_contain_text("Succeeded", timeout=LONG)
    opened_sample(page, sample)


def test_a_newcomer_takes_sample_clusters_along_their_path(page: Page, up: Up):
    page.goto("/login")
    page.get_by_role("button", name=f"Try it as {OPERATOR}").click()
    opened_sample(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Step 1 of 12")
    rolled(page, "live-alpha")
    click(page, "Run helm upgrade")
    expect(page.locator(NEXT)).to_contain_text("Step 3 of 12")
    kill(up.family())
    up.end(signal.SIGKILL)
    up.start().serving()
    opened_sample(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Step 3 of 12")
    rolled(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Roll that back")
    rolled(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("And make them again")
    opened_sample(page, "live-stored")
    rolled(page, "live-stored")
    expect(page.locator(NEXT)).to_contain_text("This cluster is at v1")
    click(page, f"Read the audit log as {APPROVER}")
    expect(page.locator("main")).to_contain_text(APPROVER)
    expect(page.locator("main")).to_contain_text("live-stored")
