"""An EKS cluster registered by hand: the external id is copied, the role tested and registered."""

import re

import pytest
from playwright.sync_api import expect

from migrations_app.models.cluster import Cluster
from tests.fakes.aws_server import ARN, ROLE
from tests.use_cases.clusters import eks


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr("migrations_app.web.clusters.register.enqueue_scan", lambda _scan: True)


def width_over(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_from_the_arn_to_the_cluster(browse, aws):
    page = browse(permissions=["clipboard-read", "clipboard-write"])
    page.goto("/clusters/new")
    expect(page.get_by_label("Kubeconfig", exact=True)).to_be_hidden()
    page.get_by_label("Name", exact=True).fill("shop")
    page.get_by_label("EKS cluster", exact=True).fill(ARN)
    page.get_by_role("button", name="Generate the external ID").click()
    shown = page.locator(".code").filter(has_text=re.compile(r"^\s*karpdash-")).first
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").strip()
    assert re.fullmatch(r"karpdash-[0-9a-f]{40}", copied)
    aws.roles[ROLE] = ""
    page.get_by_label("ARN of the role").fill(ROLE)
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_text("External ID not enforced.")).to_be_visible()
    aws.roles[ROLE] = copied
    page.get_by_role("button", name="Register and scan").click()
    page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    assert (Cluster.objects.get().name, Cluster.objects.get().external_id) == ("shop", copied)


@pytest.mark.parametrize("width", [360, 1280])
def test_both_steps_fit_the_screen(browse, aws, width):
    page = browse(viewport={"width": width, "height": 800})
    page.goto("/clusters/new?way=eks")
    assert width_over(page) <= 0
    page.get_by_label("EKS cluster", exact=True).fill(ARN)
    page.get_by_role("button", name="Generate the external ID").click()
    expect(page.get_by_label("ARN of the role")).to_be_visible()
    assert width_over(page) <= 0
    row = eks.registered(aws)
    page.goto(f"/clusters/{row.pk}/connection")
    expect(page.get_by_text(row.external_id)).to_be_visible()
    assert width_over(page) <= 0
