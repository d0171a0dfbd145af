"""Rollouts in a real browser: two people on a real API server, a page that lives, and no barrier in any state."""

import re
import threading
import uuid
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from migrations_app.models.policy import KillSwitch
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.samples.karpenter_objects import machine
from migrations_app.use_cases.rollouts import preview, worker
from migrations_app.use_cases.rollouts.backups import keep_diffs
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.actions import on_server
from tests.actions.on_server import gone, installed, put, registered
from tests.browser.barriers import WIDTHS, faults
from tests.builders.pods import OLD
from tests.builders.pools import a_pool, a_provisioner
from tests.builders.rollouts import TAINT, a_line, a_picture, a_plan, a_rollout, an_approval, entitled, remove, taint
from tests.builders.rows import a_cluster, a_snapshot

PASSWORD = "correct horse battery staple"
EXPECTED = ("403 (Forbidden)", "409 (Conflict)", "400 (Bad", "Failed to load resource: net::ERR_FAILED")


@pytest.fixture(autouse=True)
def _quiet(settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **on_server.QUICK, cancel_seconds=0)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    for module in ("new", "commands"):
        monkeypatch.setattr(f"migrations_app.web.rollouts.{module}.enqueue_rollout", lambda _row, _task: True)


@pytest.fixture
def hand(opened, live_server, transactional_db):
    """Opens a browser for a person with these rights; any error in its console fails the test."""
    contexts, errors = [], []

    def start(name, *rights, **options):
        who = User.objects.filter(username=name).first() or User.objects.create_user(name, password=PASSWORD)
        client = Client()
        client.force_login(entitled(who, *rights), backend="django.contrib.auth.backends.ModelBackend")
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = opened.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
        context.add_cookies([cookie])
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        return page

    yield start
    for context in contexts:
        context.close()
    assert [line for line in errors if not any(known in line for known in EXPECTED)] == []


@pytest.fixture
def shop(transactional_db):
    cluster = a_cluster("shop", environment="production")
    a_snapshot(cluster, at=timezone.now())
    return cluster


def alpha_cluster(server):
    """0.32 with one node of one Provisioner, beside a NodePool; scanned."""
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10", FEATURE_GATES="Drift=true")
    put(server, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    cluster = registered(server)
    claim = queue.claim(queue.request_scan(cluster.pk, by="ada").scan_id)
    scan_claimed(claim)
    return cluster


def work(row, *, between=lambda: None):
    """The worker, in this thread."""
    for _ in range(60):
        if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
            break
        between()


def test_ada_operates_cleo_approves(hand, clean_apiserver):  # A28, A40, A42, T14
    cluster = alpha_cluster(clean_apiserver)
    ada, cleo = hand("ada", "operate_rollout"), hand("cleo", "approve_rollout")
    ada.goto(f"/clusters/{cluster.pk}/rollouts/new?action=taint_and_drift")
    ada.get_by_label("web", exact=False).first.check()
    ada.get_by_label("Ticket").fill("OPS-7")
    ada.get_by_role("button", name="Preview").click()
    expect(ada.get_by_role("heading", name="Preparing preview")).to_be_visible()
    address, row = ada.url, Rollout.objects.get()
    ada.goto("about:blank")
    preview.prepare(row.pk)
    ada.goto(address)
    expect(ada.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    ada.get_by_text("Taint Provisioner web: 1 of 1 node can drift").first.click()
    expect(ada.locator(".diff-line.is-added", has_text="karpenter.sh/legacy")).to_be_visible()
    ada.get_by_role("button", name="Ask for approval").click()
    expect(ada.get_by_role("heading", name="Waiting for approval")).to_be_visible()
    ada.goto("about:blank")  # left open, it would load itself anew just when the test does
    cleo.goto("/rollouts/waiting")
    cleo.get_by_role("link", name="Taint Provisioners and let drift replace their nodes").click()
    expect(cleo.get_by_role("navigation", name="Where you are")).to_contain_text("shop")
    cleo.get_by_role("button", name=re.compile("^Approve: Taint Provisioners")).click()
    expect(cleo.get_by_role("heading", name="Approved", exact=True)).to_be_visible()
    cleo.goto("about:blank")  # its polling would meet Ada's click in an SQLite in memory, where nobody waits
    ada.goto(address)
    ada.get_by_role("button", name="Start rollout").click()  # without the confirmation the browser sends nothing
    expect(ada.get_by_role("heading", name="Approved", exact=True)).to_be_visible()
    ada.get_by_role("checkbox", name="Yes, change shop now").check()
    with ada.expect_navigation():  # the page may say it before the answer to the click is there
        ada.get_by_role("button", name="Start rollout").click()
    expect(ada.get_by_role("heading", name="Running")).to_be_visible()
    ada.goto("about:blank")
    claim, node = f"/apis/karpenter.sh/v1alpha5/machines/{OLD.claim}", f"/api/v1/nodes/{OLD.node}"
    work(row, between=lambda: gone(clean_apiserver, node, claim))
    ada.goto(address)
    expect(ada.get_by_role("heading", name="Succeeded")).to_be_visible()
    expect(ada.locator(".timeline").first).to_contain_text("Applied: Taint Provisioner web")
    assert clean_apiserver.admin.get("/apis/karpenter.sh/v1alpha5/provisioners/web")["spec"]["taints"]
    assert [one.approver_name for one in Approval.objects.filter(rollout=row)] == ["cleo"]


def test_the_page_lives_and_says_when_nobody_answers(hand, shop):  # R33
    row = a_rollout(shop, taint(), remove(), state="running", picture=a_picture())
    page = hand("ada", "operate_rollout")
    page.goto(f"/rollouts/{row.pk}/")
    expect(page.get_by_text("0 of 2").first).to_be_visible()
    a_line(row, verb="gate", outcome="noop", reason="verified")
    expect(page.locator("main")).to_contain_text("Verified")
    expect(page.get_by_text("1 of 2").first).to_be_visible()
    page.route("**/live", lambda route: route.abort())
    expect(page.get_by_text("Disconnected")).to_be_visible()
    page.unroute("**/live")
    expect(page.get_by_text("Disconnected")).to_be_hidden()
    page.route("**/live", lambda _route: None)
    expect(page.get_by_text("Disconnected")).to_be_visible()
    page.unroute("**/live")
    Rollout.objects.filter(pk=row.pk).update(state="paused", version=2, cause_code="gate", cause="2 Pending pods")
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    expect(page.get_by_role("button", name="Resume (step 2 of 2)")).to_be_visible()


@pytest.fixture
def requests_in_turn(monkeypatch):
    """An SQLite in memory, as these tests have, lets no writer wait: a request that meets another one is refused."""
    turn, answer = threading.Lock(), WSGIHandler.get_response

    def in_turn(handler, request):
        with turn:
            return answer(handler, request)

    monkeypatch.setattr(WSGIHandler, "get_response", in_turn)


@pytest.mark.usefixtures("requests_in_turn")
def test_a_double_click_starts_once(hand, shop):  # R33
    page = hand("ada", "operate_rollout")
    row = a_rollout(shop, state="approved", author=User.objects.get(username="ada"))
    an_approval(row, entitled(User.objects.create_user("cleo"), "approve_rollout"))
    page.goto(f"/rollouts/{row.pk}/")
    page.get_by_role("checkbox", name="Yes, change shop now").check()
    page.get_by_role("button", name="Start rollout").dblclick()
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    row.refresh_from_db()
    assert (row.state, row.version) == ("running", 2)


def test_everything_works_without_script(hand, shop):
    row = a_rollout(shop, state="running", picture=a_picture())
    page = hand("ada", "operate_rollout", java_script_enabled=False)
    page.goto(f"/rollouts/{row.pk}/")
    expect(page.get_by_text("to see what is new").first).to_be_visible()
    page.get_by_role("button", name="Pause after this step").click()
    expect(page.get_by_text("It pauses after the request under way.")).to_be_visible()


def shown(shop):
    """A row in each state that looks of its own, by the name of the state."""
    steps = taint(note="Nodes without a hash do not drift."), remove()
    rows = {"draft": a_rollout(shop, state="draft")}
    for state in ("previewed", "awaiting_approval", "approved", "running", "needs_attention", "failed"):
        where = a_cluster(f"shop-{state}", environment="production")
        a_snapshot(where, at=timezone.now())
        rows[state] = row = a_rollout(
            where, *steps, state=state, provable={"s002": "rests on what an earlier step brings"},
            cause="Node ip-10-0-0-1 is still there" if state in ("failed", "needs_attention") else "",
            cause_code="gate" if state in ("failed", "needs_attention") else "",
        )  # fmt: skip
        before = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": {"name": "default"}}
        keep_diffs(row, {"s001": (before, before | {"spec": {"taints": [TAINT]}})})
    for state in ("running", "needs_attention", "failed"):
        Rollout.objects.filter(pk=rows[state].pk).update(picture=a_picture(), waits_for="Node ip-10-0-0-1 to go")
        a_line(rows[state])
        a_line(rows[state], verb="gate", outcome="noop", reason="verified")
        a_line(rows[state], "s002", verb="delete", outcome="" if state == "running" else "unknown", status=None)
    return rows


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(hand, shop, width):
    rows = shown(shop)
    KillSwitch.objects.create(on=True, why="pods are lost", by_name="gil", since=timezone.now())
    page = hand(
        "eve", "operate_rollout", "approve_rollout", "administer_policy", "break_glass",
        viewport={"width": width, "height": 900},
    )  # fmt: skip
    plan = a_plan(shop)
    paths = [f"/rollouts/{row.pk}/" for row in rows.values()]
    paths += ["/rollouts/", "/rollouts/waiting", "/policy", "/kill-switch", "/sign-in-again"]
    paths += [
        f"/clusters/{shop.pk}/{tail}" for tail in ("rollouts", "policy", f"rollouts/new?action={plan.action}", "")
    ]
    found = []
    for path in paths:
        page.goto(path)
        found += [(path, one) for one in faults(page)]
    assert found == []


PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize(
    ("state", "name", "then"),
    [
        ("running", "Pause after this step", "It pauses after the request under way."),
        ("running", "Abort", "It ends after the request under way."),
        ("paused", "Abort permanently", "Aborted"),
        ("paused", "Resume (step", "Running"),
    ],
)
def test_on_a_phone_it_is_stopped_and_resumed_without_scrolling(hand, shop, state, name, then):  # A10
    page = hand("ada", "operate_rollout", viewport=PHONE, has_touch=True)
    row = a_rollout(shop, taint(), remove(), state=state, picture=a_picture(), risk="low")
    an_approval(row, entitled(User.objects.create_user("cleo"), "approve_rollout"))
    page.goto(f"/rollouts/{row.pk}/")
    button = page.get_by_role("button", name=name)
    box = button.bounding_box()
    assert (box["y"] + box["height"] <= PHONE["height"], box["x"] + box["width"] <= PHONE["width"]) == (True, True)
    button.tap()
    expect(page.locator("#live")).to_contain_text(then)


@pytest.mark.parametrize(("state", "asks"), [("running", True), ("succeeded", False), ("aborted", False)])
def test_the_page_asks_again_until_it_is_over(hand, shop, state, asks):
    page = hand("ada", "operate_rollout")
    row = a_rollout(shop, taint(), state=state, picture=a_picture(), started_at=timezone.now())
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/live") else None)
    page.goto(f"/rollouts/{row.pk}/")
    expect(page.get_by_text("Counted", exact=False).first).to_be_visible()
    if asks:
        page.wait_for_event("request", lambda request: request.url.endswith("/live"))
    else:
        page.wait_for_timeout(2600)
        assert asked == []
    assert page.get_by_role("link", name="Back to readiness").count() == (state == "succeeded")


def test_a_refusal_is_left_for_the_page_itself_and_its_form_is_not_sent_again(hand, shop):  # R33
    page = hand("ada", "operate_rollout")
    row = a_rollout(shop, taint(), state="running", picture=a_picture())
    page.goto(f"/rollouts/{row.pk}/")
    page.evaluate("document.querySelector(\"form[action$='/pause']\").action = location.pathname + 'resume'")
    page.get_by_role("button", name="Pause after this step").click()
    expect(page.get_by_text("Action failed:")).to_be_visible()
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    Rollout.objects.filter(pk=row.pk).update(state="paused", version=2, cause_code="gate", cause="2 Pending pods")
    page.wait_for_url(re.compile(f"/rollouts/{row.pk}/$"))
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    assert sent == []


def test_a_button_pressed_while_the_page_renews_itself_is_pressed(hand, shop):  # R33
    page = hand("ada", "operate_rollout")
    row = a_rollout(shop, taint(), state="running", picture=a_picture())
    page.goto(f"/rollouts/{row.pk}/")
    page.get_by_role("button", name="Pause after this step").hover()
    page.mouse.down()
    Rollout.objects.filter(pk=row.pk).update(version=2)  # the page would be loaded anew
    for _ in range(2):  # the second one comes when the first one was used
        page.wait_for_event("response", lambda response: response.url.endswith("/live"))
    page.mouse.up()
    expect(page.locator("#live")).to_contain_text("It pauses")
