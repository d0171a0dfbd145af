"""A newcomer with a browser: a sample cluster is planned, approved by the second person, rolled, watched and audited.

One installation with real processes, which is killed in the middle once.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.barriers import cut_buttons
from tests.browser.two_people import LONG, SETTINGS, WORD
from tests.installations.running import Up, kill
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


def rolled(page: Page, sample: str, *, rehearsed: bool = False) -> None:
    """One step of the path from its button to its end, by both people; rehearsed before it is approved."""
    click(page, "Plan it")
    expect(page.locator(WORD)).to_have_text("Preview", timeout=LONG)
    if rehearsed:
        page.locator("form[action$='/rehearse'] button").click()
        expect(page.locator("main")).to_contain_text("As the cluster is: ends after", timeout=LONG)
    page.locator("form[action$='/ask'] button").click()
    expect(page.locator(WORD)).to_have_text("Waiting for approval", timeout=LONG)
    opened_sample(page, sample)
    click(page, f"Continue as {APPROVER}")
    expect(page.locator(WORD)).to_have_text("Waiting for approval", timeout=LONG)
    for box in page.locator("form[action$='/approve'] input[name=accepted]").all():
        box.check()
    if page.locator("#yes-typed").count():
        page.locator("#yes-typed").fill(sample)
    page.locator("form[action$='/approve'] button").click()
    expect(page.locator(WORD)).to_have_text("Approved")
    opened_sample(page, sample)
    click(page, f"Continue as {OPERATOR}")
    page.locator("form[action$='/start'] input[name=confirmed]").check()
    page.locator("form[action$='/start'] button").click()
    expect(page.locator(WORD)).to_have_text("Succeeded", timeout=LONG)
    opened_sample(page, sample)


def test_a_newcomer_takes_sample_clusters_along_their_path(page: Page, up: Up):
    page.goto("/login")
    assert cut_buttons(page) == []
    page.get_by_role("button", name=f"Try it as {OPERATOR}").click()
    expect(page.get_by_role("heading", name="Sample clusters to try rollouts on")).to_be_visible()
    opened_sample(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Step 1 of 12")
    rolled(page, "live-alpha", rehearsed=True)
    click(page, "Run helm upgrade")
    expect(page.locator(NEXT)).to_contain_text("Step 3 of 12")
    kill(up.family())
    assert up.process is not None
    up.process.wait(60)
    up.start().serving()
    opened_sample(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Step 3 of 12")
    rolled(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("Roll that back")
    rolled(page, "live-alpha")
    expect(page.locator(NEXT)).to_contain_text("And make them again")
    opened_sample(page, "live-stored")
    rolled(page, "live-stored", rehearsed=True)
    expect(page.locator(NEXT)).to_contain_text("This cluster is at v1")
    click(page, f"Read the audit log as {APPROVER}")
    expect(page.locator("main")).to_contain_text(APPROVER)
    expect(page.locator("main")).to_contain_text("live-stored")
