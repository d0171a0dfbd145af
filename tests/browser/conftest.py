"""A real chromium on real pages. Every page is watched: an error of a script or of the policy fails its test."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from playwright.sync_api import Page

from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import PartLine
from tests.builders.rows import (
    a_claim_lost,
    a_cluster,
    a_failure,
    a_report,
    a_scan,
    a_snapshot,
    some_nodes,
)

PASSWORD = "correct horse battery staple"
EXPECTED_ERRORS = (
    "404 (Not Found)",
    "422 (Unprocessable",
    "403 (Forbidden)",
    "429 (Too Many",
    "Response Status Error Code 404",
)


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada(transactional_db):
    return get_user_model().objects.create_superuser("ada", password=PASSWORD)


@pytest.fixture
def browse(opened, live_server, ada, client):
    """Opens pages as Ada; takes the options of Playwright's context, and fails on any error in the console."""
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    contexts, errors = [], []

    def start(*, signed_in: bool = True, **options) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = opened.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if signed_in:
            context.add_cookies([cookie])
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    yield start
    for context in contexts:
        context.close()
    assert [line for line in errors if not any(known in line for known in EXPECTED_ERRORS)] == []


@pytest.fixture
def fleet(transactional_db) -> dict[str, Cluster]:
    """One cluster in each state that has a design of its own, by the name of the state."""
    now = timezone.now()
    nodes = (*some_nodes(8), *some_nodes(3, owner="managed_node_group"), *some_nodes(1, owner="unknown"))
    whole = a_report(nodes=nodes, anomalies=(a_claim_lost(),))
    parts = (PartLine(name="pdbs", seen=False, why="forbidden", detail="cannot list"), *whole.parts)
    partial = a_report("partial", parts=parts, legacy={"Provisioner": None, "Machine": 3})
    states = {name: a_cluster(name, environment=name) for name in ("production", "partial", "gone", "running", "new")}
    a_snapshot(states["production"], a_report(legacy={"Machine": 30}), at=now - timedelta(days=2))
    a_snapshot(states["production"], whole, nodes=nodes, at=now - timedelta(minutes=4))
    a_snapshot(states["partial"], partial, at=now - timedelta(minutes=9))
    a_snapshot(states["gone"], a_report("gone"), at=now - timedelta(days=1))
    a_failure(states["gone"], detail="connection refused")
    a_snapshot(states["running"], a_report("running"), at=now - timedelta(days=3))
    a_scan(states["running"], started_at=now)
    return states
