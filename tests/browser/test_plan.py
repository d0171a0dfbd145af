"""The plan in the hands of somebody whose browser runs no script."""

from playwright.sync_api import expect

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.browser.barriers import WIDTHS, faults


def scanned(story: str) -> Cluster:
    row = Cluster.objects.create(name=story, source="sample", context=story)
    claim = queue.claim(queue.request_scan(row.pk).scan_id)
    assert claim is not None
    scan_claimed(claim)
    return row


def test_a_plan_is_read_taken_hop_by_hop_and_kept_without_script(browse, transactional_db):
    row = scanned("halfway_032")
    page = browse(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page.goto(f"/clusters/{row.pk}/")
    page.get_by_role("link", name="Open runbook").click()
    page.get_by_role("heading", name="Install the CRDs of 0.37.8").wait_for()
    values = page.locator("#values")
    expect(values.get_by_text("default changed").first).to_be_visible()
    values.get_by_text("stay as before").first.click()
    expect(values.get_by_text("stay as before").locator("xpath=..").get_by_role("listitem").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    command = page.get_by_text("helm template karpenter ")
    expect(command, "Argo CD delivers here, so its form stands first").to_be_hidden()
    page.locator("[id^=stage-]", has=command).get_by_text("Helm", exact=True).first.click()
    expect(command).to_be_visible()
    page.locator("#check-legacy_machines_gone summary").click()
    expect(page.locator("#check-legacy_machines_gone").get_by_text("a NodeClaim in its place").first).to_be_visible()
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download runbook (.md)").click()
    assert taken.value.suggested_filename == "halfway_032-karpenter-0.37.8-plan.md"
    page.get_by_role("link", name="1.0.14 Later").click()
    page.get_by_role("heading", name="Install the CRDs of 1.0.14").wait_for()
    expect(page.get_by_text("Whatever is written from now on is stored as v1")).to_be_visible()


def test_a_real_plan_has_no_barriers(browse, transactional_db):
    rows = [scanned("forbidden"), scanned("beta_037")]
    for width in WIDTHS:
        page = browse(viewport={"width": width, "height": 800})
        for row in rows:
            page.goto(f"/clusters/{row.pk}/plan")
            assert (row.name, width, faults(page)) == (row.name, width, [])


def test_a_plan_is_printed_with_its_commands(browse, transactional_db):
    row = scanned("halfway_032")
    page = browse()
    page.goto(f"/clusters/{row.pk}/plan")
    folded, printed = page.locator(".plan-stage details:not([open])"), page.locator("details[data-printed]")
    before = folded.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert (before > 0, folded.count(), printed.count()) == (True, 0, before)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert (folded.count(), printed.count()) == (before, 0)
