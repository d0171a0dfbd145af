"""The pages that convert, in a real browser: access, fit, switches, links between findings and lines, downloads."""

import dataclasses
import re

import pytest
from playwright.sync_api import expect

from tests.browser.barriers import WIDTHS, faults
from tests.web.clusters.conversions import BETA, BROKEN, POOL, TEMPLATE, a_cluster_with, as_text


@pytest.fixture
def cluster(transactional_db, settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    return a_cluster_with(POOL, TEMPLATE, BETA, BROKEN)


@pytest.fixture
def tab(cluster):
    """The address of the cluster's Convert tab."""
    return f"/clusters/{cluster.pk}/convert"


def paste(page, text):
    page.goto("/convert")
    page.get_by_label("Manifests").fill(text)
    with page.expect_navigation():
        page.locator("main").get_by_role("button", name="Convert").click()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, tab, width):
    page = browse(viewport={"width": width, "height": 800})
    for path in (tab, f"{tab}?to=v1&role=a%20b", "/convert"):
        page.goto(path)
        assert (path, faults(page)) == (path, [])
    paste(page, as_text(POOL, BROKEN) + "\n---\nkind: [\n")
    expect(page.get_by_text("Converted", exact=True).first).to_be_visible()
    assert faults(page) == []


def test_a_switch_converts_at_once(browse, tab):
    page = browse()
    page.goto(tab)
    page.get_by_role("group", name="Target").get_by_text("v1", exact=True).click()
    page.wait_for_url(re.compile("to=v1&"))
    expect(page.get_by_text("Two steps on a live cluster.")).to_be_visible()
    page.get_by_label("Node role").fill("KarpenterNodeRole-shop")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("role=KarpenterNodeRole-shop"))
    expect(page.get_by_text("Decide first")).to_have_count(0)


def test_a_finding_leads_to_its_line_and_back(browse, tab):
    page = browse()
    page.goto(tab)
    page.locator("#awsnodetemplate-nodes-f0").get_by_role("link", name="line 7").click()
    line = page.locator("#awsnodetemplate-nodes-l7")
    expect(line).to_be_in_viewport()
    line.locator(".flag").first.click()
    expect(page).to_have_url(re.compile("#awsnodetemplate-nodes-f0$"))


def test_a_link_into_a_folded_object_opens_it(browse, tab):
    page = browse()
    page.goto(f"{tab}#nodepool-beta-l3")
    expect(page.locator("#nodepool-beta-l3")).to_be_in_viewport()


def test_the_files_come_as_downloads(browse, tab):
    page = browse()
    page.goto(tab)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Terraform").click()
    assert waiting.value.suggested_filename == "shop-prod-karpenter.tf"
    assert "kubectl_manifest" in waiting.value.path().read_text()


def test_pasted_manifests_without_script(browse, cluster):
    page = browse(java_script_enabled=False)
    paste(page, as_text(POOL))
    expect(page.get_by_text("Converted", exact=True).first).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="YAML").click()
    assert "kind: NodePool" in waiting.value.path().read_text()
