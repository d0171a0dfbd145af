"""The audit page in a real browser: readable at every width, folds open, filters by a click."""

import pytest
from django.conf import settings as django_settings
from playwright.sync_api import expect

from migrations_app.use_cases.audit import checkpoint_delivery
from migrations_app.use_cases.audit.log import Actor
from tests.browser.barriers import WIDTHS, faults
from tests.builders.rows import a_cluster
from tests.use_cases.audit.signed_log import with_sinks, write


@pytest.fixture
def busy(transactional_db, settings, tmp_path):
    """A log with a sink that works, a rollout, and a long name."""
    with_sinks(settings, file=str(tmp_path / "outside.jsonl"))
    settings.ALLOWED_HOSTS = django_settings.ALLOWED_HOSTS
    cluster = str(a_cluster("shop").pk)
    write(99, verb="scan.requested", object="ada", cluster_id=cluster, outcome="done")
    run = {"cluster_id": cluster, "plan_digest": "d" * 64, "correlation": "5f0c", "step": "s001", "attempt": 1}
    detail = {"path": "/apis/karpenter.sh/v1beta1/nodepools/" + "long-" * 30, "status": 200, "verb": "patch"}
    write(verb="step.outcome", actor=Actor(name="karpdash", method="worker"), outcome="applied", detail=detail, **run)
    checkpoint_delivery.sign_and_deliver()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, busy, width):
    page = browse(viewport={"width": width, "height": 800})
    page.goto("/audit")
    assert faults(page) == []


def test_a_click_narrows_the_log_and_the_export_keeps_that(browse, busy):
    page = browse()
    page.goto("/audit")
    page.get_by_role("link", name="step.outcome").click()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("tr[data-row] summary").click()
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="JSONL").click()
    assert saved.value.path().read_text().count('"verb":"step.outcome"') == 1
    assert len(saved.value.path().read_text().splitlines()) == 1
