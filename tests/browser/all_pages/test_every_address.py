"""Every page that an address of the site leads to, so that a new one cannot be forgotten: barriers, fit, no script."""

import os
from pathlib import Path

import pytest
from django.utils import timezone

from migrations_app.models.scan import LegacyDay
from tests.browser.barriers import faults
from tests.browser.everywhere import Answer, answers, staged

PHONE, HALF = {"width": 390, "height": 844}, {"width": 640, "height": 800}
"""A window of 1,280 pixels at 200 % is 640 wide for its page."""
NEEDS_SCRIPT = ".needs-script:visible, main [hx-post]:not(form):not(form *):visible"
NOT_HERE = {
    "oidc", "oidc-again", "oidc-back",  # no identity provider; tests/browser/test_oidc.py
    "feed",  # no page: files for programs that have a secret
    "sample", "sample-next",  # clusters that are acted on; tests/browser/test_samples.py
    "rollout-exports", "rollout-receipt",  # files and a part of a rollout that is over
}  # fmt: skip


@pytest.fixture
def found(settings, client, ada, transactional_db) -> list[Answer]:
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    return answers(client, staged(settings))


@pytest.fixture
def paper(browse):
    """A page as printed on A4, with where the dialog of the printer was asked for."""
    page = browse(viewport={"width": 794, "height": 1123})
    page.add_init_script("window.printed = 0; window.print = () => { window.printed += 1 }")
    return page


def pages(found: list[Answer]) -> list[Answer]:
    return [one for one in found if one.page and one.status == 200]


def test_every_address_has_a_page_or_is_told_why_not(found):
    assert {one.name for one in found if one.status == 404} == NOT_HERE
    assert {one.status for one in found} == {200, 302, 404, 405}
    assert {one.name for one in found if one.status == 302} == {"login"}


@pytest.mark.timeout(600)
def test_every_page_fits_a_phone_and_has_no_barrier(browse, found):
    page = browse(viewport=PHONE)
    told = []
    for one in pages(found):
        page.set_viewport_size(PHONE)
        page.goto(one.path)
        told += [(one.name, fault) for fault in faults(page)]
        page.set_viewport_size(HALF)
        wide = page.evaluate("document.documentElement.scrollWidth")
        told += [(one.name, "at 200 %", wide)] if wide > HALF["width"] else []
        if folder := os.environ.get("KARPDASH_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"{one.name}.png", full_page=True)
    assert told == []


@pytest.mark.timeout(300)
def test_no_page_offers_what_needs_script_where_there_is_none(browse, found):
    page = browse(java_script_enabled=False)
    told = []
    for one in pages(found):
        page.goto(one.path)
        told += [one.name] * (page.locator(NEEDS_SCRIPT).count() > 0)
        told += [one.name] * (page.get_by_role("heading", level=1).count() != 1)
    assert told == []


def test_the_fleet_and_its_progress_are_printed_as_a_report(paper, fleet):
    LegacyDay.objects.create(
        cluster=fleet["production"], day=timezone.now().date(), provisioners=0, templates=0, machines=10, nodes=4,
        objects_total=20, nodes_total=8, stored_versions=3, stored_versions_total=3, claims=20, claims_total=20,
    )  # fmt: skip
    for path, heading, kept in (
        ("/", "Karpenter can be upgraded today on 0 of 5 clusters", ".fleet tbody tr.row"),
        ("/burndown", "Progress", "main h2"),
    ):
        paper.goto(path)
        paper.emulate_media(media="screen")
        paper.get_by_role("button", name="Print").click()
        assert paper.evaluate("window.printed") == 1
        paper.emulate_media(media="print")
        assert paper.get_by_role("heading", level=1).inner_text() == heading
        assert paper.locator(f"{kept}:visible").count() > 0
        assert paper.locator("button:visible, select:visible, input:visible").count() == 0
        assert paper.evaluate("document.documentElement.scrollWidth") <= 794
