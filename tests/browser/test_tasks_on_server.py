"""Two tasks of a newcomer on a real API server: a cluster registered from its kubeconfig, and its nodes rolled."""

import re
import uuid
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.models.scan import Scan
from migrations_app.samples.karpenter_objects import machine
from migrations_app.use_cases.rollouts import preview, worker
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.actions import on_server
from tests.actions.on_server import gone, installed, put, registered
from tests.browser.clicks import Clicks, link
from tests.builders.pods import OLD, OTHER
from tests.builders.pools import a_pool, a_provisioner, a_template
from tests.builders.rollouts import entitled

MACHINES = "/apis/karpenter.sh/v1alpha5/machines"


@pytest.fixture(autouse=True)
def _no_broker(settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **on_server.QUICK, cancel_seconds=0)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    monkeypatch.setattr("migrations_app.web.clusters.register.enqueue_scan", lambda _scan: True)
    for module in ("new", "commands"):
        monkeypatch.setattr(f"migrations_app.web.rollouts.{module}.enqueue_rollout", lambda _row, _task: True)


@pytest.fixture
def alpha(clean_apiserver):
    """An API server with 0.32, and two nodes of a Provisioner beside the NodePool that takes over."""
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10", FEATURE_GATES="Drift=false")
    nodes = [*machine(OLD, template="default"), *machine(OTHER, template="default")]
    put(clean_apiserver, a_provisioner(), a_template(), a_pool(version="v1beta1"), *nodes)
    return clean_apiserver


def scanned(cluster: Cluster) -> None:
    """The worker's part. No page is open meanwhile: an SQLite in memory lets nobody wait."""
    scan_claimed(queue.claim(queue.request_scan(cluster.pk, by="ada").scan_id))


def away(page: Page) -> str:
    """Leaves the page, whose polling would meet the worker; returns its address."""
    address = page.url
    page.goto("about:blank")
    return address


def typed(page: Page, kubeconfig: str, name: str) -> None:
    page.get_by_label("Kubeconfig", exact=True).fill(kubeconfig)
    page.get_by_label("Name", exact=True).fill(name)


def at_the_cluster(page: Page) -> Cluster:
    page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    return Cluster.objects.get(pk=page.url.rstrip("/").rpartition("/")[2])


def test_a_cluster_is_registered_from_its_kubeconfig(browse, alpha):
    page = browse()
    page.goto("/")
    clicks = Clicks(page)
    clicks.on(link(page, "Register a cluster"))
    clicks.on(page.locator("label[for=way-paste]"))
    typed(page, alpha.kubeconfig(alpha.admin_token), "shop")
    clicks.on(page.get_by_role("button", name="Register and scan"))
    cluster = at_the_cluster(page)
    address = away(page)
    scan_claimed(queue.claim(Scan.objects.get().pk))
    page.goto(address)
    expect(page.get_by_role("heading", name=re.compile("^Not ready"))).to_be_visible()
    assert (cluster.name, cluster.source, len(clicks.made)) == ("shop", "kubeconfig", 3)


def test_what_was_pasted_survives_a_refusal_and_the_enter_key(browse, apiserver):
    page = browse()
    pasted = apiserver.kubeconfig(apiserver.admin_token)
    page.goto("/clusters/new?way=paste")
    # Enter presses the first button of the form, that of the external id.
    page.get_by_label("Kubeconfig", exact=True).fill(pasted)
    page.get_by_label("Environment", exact=True).fill("staging")
    page.keyboard.press("Enter")
    expect(page.locator("#id_name ~ .problem")).to_have_text("This field is required.")
    expect(page.get_by_text("paste the kubeconfig again")).to_have_count(0)
    assert page.get_by_label("Kubeconfig", exact=True).input_value() == pasted
    page.get_by_label("Name", exact=True).fill("shop")
    page.get_by_label("Name", exact=True).press("Enter")
    cluster = at_the_cluster(page)
    assert (cluster.name, cluster.environment) == ("shop", "staging")


def test_what_was_typed_stays_when_nobody_answers_and_when_signed_out(browse):
    page, pasted = browse(), "apiVersion: v1\nkind: Config"
    page.goto("/clusters/new?way=paste")
    typed(page, pasted, "shop")
    note = page.get_by_text("Not registered: karpdash did not answer")
    page.route("**/clusters/new", lambda route: route.fulfill(status=404, body="no backend"))
    page.get_by_role("button", name="Register and scan").click()
    expect(note).to_be_visible()
    page.unroute("**/clusters/new")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Register and scan").click()
    expect(note).to_be_visible()
    kept = (
        page.get_by_label("Kubeconfig", exact=True).input_value(),
        page.get_by_label("Name", exact=True).input_value(),
    )
    assert (kept, Cluster.objects.count()) == ((pasted, "shop"), 0)


def drained(server):
    """What the finalizer's controller does to nodes that are being deleted."""
    for node in server.admin.items("/api/v1/nodes"):
        if "deletionTimestamp" in node["metadata"]:
            machine_name = node["metadata"]["ownerReferences"][0]["name"]
            gone(server, f"/api/v1/nodes/{node['metadata']['name']}", f"{MACHINES}/{machine_name}")


def carried_out(row: Rollout, server) -> None:
    """The worker, in this thread, with Karpenter beside it."""
    for _ in range(60):
        if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
            return
        drained(server)
    raise AssertionError("the rollout goes on after 60 turns of its worker")


@pytest.fixture
def approver(browse, live_server):
    """The browser of Cleo, who may approve."""
    client, page = Client(), browse(signed_in=False)
    cleo = entitled(User.objects.create_user("cleo"), "approve_rollout")
    client.force_login(cleo, backend="django.contrib.auth.backends.ModelBackend")
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    page.context.add_cookies([cookie])
    return page


def test_the_nodes_of_a_cluster_are_rolled(browse, alpha, approver):
    scanned(registered(alpha))
    page = browse(viewport={"width": 1280, "height": 900})
    page.goto("/")
    ada, cleo = Clicks(page), Clicks(approver)
    ada.on(link(page, "shop"))
    ada.on(page.get_by_role("navigation", name="About this cluster").get_by_role("link", name="Rollouts"))
    ada.on(link(page, "Roll 2 nodes in batches"))
    ada.on(page.get_by_role("button", name="Preview"))
    expect(page.get_by_role("heading", name="Preparing preview")).to_be_visible()
    address, row = away(page), Rollout.objects.get()
    preview.prepare(row.pk)
    page.goto(address)
    ada.on(page.get_by_role("button", name="Ask for approval"))
    expect(page.get_by_role("heading", name="Waiting for approval")).to_be_visible()
    away(page)
    approver.goto("/")
    cleo.on(link(approver, "Rollouts"))
    cleo.on(link(approver, "Roll nodes in batches"))
    approver.locator("#yes-typed").fill("shop")
    cleo.on(approver.get_by_role("button", name=re.compile("^Approve: Roll 2 nodes")))
    expect(approver.get_by_role("heading", name="Approved", exact=True)).to_be_visible()
    away(approver)
    page.goto(address)
    ada.on(page.get_by_role("checkbox", name="Yes, change shop now"))
    ada.on(page.get_by_role("button", name="Start rollout"))
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    away(page)
    carried_out(row, alpha)
    page.goto(address)
    expect(page.get_by_role("heading", name="Succeeded")).to_be_visible()
    assert (
        alpha.admin.items("/api/v1/nodes"),
        [approval.approver_name for approval in Approval.objects.all()],
    ) == ([], ["cleo"])
    assert (len(ada.made), len(cleo.made)) == (7, 3), (ada.made, cleo.made)
