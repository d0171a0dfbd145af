"""Progress, the run and the node map in a real browser: keyboard, no script, 390 px, and nothing for axe to find."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from migrations_app.actions.changes import ObjectTarget, deletion
from migrations_app.actions.gate import BlockedEviction, NodeMark
from migrations_app.models.rollout import Rollout, RolloutSample
from migrations_app.models.scan import LegacyDay
from tests.browser.barriers import WIDTHS, barriers_in_each_theme
from tests.builders.rollouts import a_line, a_picture, a_rollout, remove


@pytest.fixture
def history(fleet):
    """Ten days of one cluster, with one object less each day."""
    today = timezone.now().date()
    for ago in range(10):
        LegacyDay.objects.create(
            cluster=fleet["production"], day=today - timedelta(days=ago), provisioners=0, templates=0,
            machines=10 + ago, nodes=4, objects_total=20, nodes_total=8, stored_versions=3, stored_versions_total=3,
            claims=20, claims_total=20,
        )  # fmt: skip
    return fleet


@pytest.fixture
def run(fleet):
    """A rollout that runs for ten minutes: one step verified, the next one sent, one pod held."""
    now = timezone.now()
    nodes = tuple(
        NodeMark(name=f"n-{number}", zone="eu-1a", made_at="2026-01-01T00:00:00Z", ready=True, draining=number == 2)
        for number in (2, 3)
    )
    held = (BlockedEviction(namespace="shop", pod="cart-0", node="n-2", by="budget cart"),)
    targets = [ObjectTarget("", "v1", "nodes", "Node", f"n-{number}", uid=f"u-{number}") for number in (1, 2, 3)]
    steps = [remove(title=f"Delete Node {one.name}", change=deletion(one)) for one in targets]
    row = a_rollout(fleet["production"], *steps, state="running", picture=a_picture(nodes=nodes, blocked=held))
    Rollout.objects.filter(pk=row.pk).update(started_at=now - timedelta(minutes=10))
    a_line(row, "s001", verb="delete")
    a_line(row, "s001", verb="gate", outcome="noop", status=None)
    a_line(row, "s002", verb="delete", outcome="", status=None, outcome_at=None)
    for ago in range(5):
        RolloutSample.objects.create(
            rollout=row, taken_at=now - timedelta(seconds=60 - 10 * ago), ready_nodes=3, pending_pods=ago, held_pods=0,
            pending_limit=4,
        )  # fmt: skip
    return row


def test_the_arrow_keys_walk_through_the_days(browse, history):
    page = browse()
    page.goto(f"/burndown?cluster={history['production'].pk}")
    day = page.get_by_role("slider", name="Day of the chart")
    expect(page.locator("[data-chart-cross]")).to_be_hidden()
    day.focus()
    newest = day.get_attribute("aria-valuetext")
    assert re.search(r"Whole way \d+ %", newest)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-chart-cross]")).to_be_visible()
    expect(page.locator("[data-chart-said]")).not_to_have_text(newest)
    page.keyboard.press("Home")
    expect(day).to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("End")
    expect(page.locator("[data-chart-said]")).to_have_text(newest)


def test_the_chart_is_saved_as_a_png(browse, history):
    page = browse()
    page.goto("/burndown")
    with page.expect_download() as found:
        page.get_by_role("link", name="PNG").click()
    assert found.value.suggested_filename == "progress.png"
    assert found.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_run_moves_without_a_reload_and_keeps_what_is_open(browse, run):
    page = browse()
    page.goto(f"/rollouts/{run.pk}/")
    expect(page.locator("li.node-square.is-held")).to_have_attribute("title", "n-2: draining, held by budget cart")
    page.get_by_text("Delete Node n-1").first.click()
    body = page.locator("#s001 .plan-body")
    expect(body).to_be_visible()
    a_line(run, "s003", verb="delete", reason="sent by the test")
    expect(page.locator("#s003 summary")).to_contain_text("Applied, not yet verified")
    expect(body).to_be_visible()
    page.locator("#s003 summary").click()
    expect(page.locator("#s003")).to_contain_text("sent by the test")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["progress", "run", "nodes"])
def test_no_barrier_and_no_sideways_scroll(browse, history, run, name, width):
    paths = {
        "progress": "/burndown",
        "run": f"/rollouts/{run.pk}/",
        "nodes": f"/clusters/{history['production'].pk}/nodes",
    }
    page = browse(viewport={"width": width, "height": 900})
    page.goto(paths[name])
    assert barriers_in_each_theme(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_script_the_same_is_drawn_and_written(browse, history, run):
    page = browse(java_script_enabled=False)
    page.goto("/burndown")
    expect(page.locator(".prog-line").first).to_be_attached()
    expect(page.get_by_role("cell", name=re.compile("%")).first).to_be_visible()
    expect(page.get_by_role("link", name="PNG")).to_be_hidden()
    expect(page.get_by_role("link", name="CSV")).to_be_visible()
    page.goto(f"/rollouts/{run.pk}/")
    expect(page.locator(".node-square.is-held").first).to_be_visible()
    expect(page.locator("#s001 summary")).to_contain_text("Delete Node n-1")
    page.goto(f"/clusters/{history['production'].pk}/nodes")
    expect(page.get_by_role("table", name="Nodes by zone and owner")).to_be_visible()
