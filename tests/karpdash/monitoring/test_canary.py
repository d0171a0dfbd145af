"""Secrets planted everywhere, everything logged at DEBUG, errors forced: none of them comes out again (T23)."""

import base64
import dataclasses

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from migrations_app import tasks
from migrations_app.models.scan import Scan
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.clusters import registration
from migrations_app.use_cases.scans import queue
from tests.builders.log_text import captured_log
from tests.fakes.evilk8s import AUTHORITY, EvilServer

pytestmark = pytest.mark.django_db
TOKEN = "c4n4ry.cluster.token.0123456789"
PASSWORD = "c4n4ry correct horse 0123456789"


@pytest.fixture
def written():
    """The log of everything, as text."""
    with captured_log() as stream:
        yield stream


@pytest.fixture(autouse=True)
def sealing(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True)


def kubeconfig(url):
    ca = base64.b64encode(AUTHORITY.pem.encode()).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority-data": ca}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
    ).encode()


def echoing(request, wire):
    """A server that says back whatever it was given."""
    wire.answer(f'{{"message": "you said {request.headers}"}}'.encode(), status="400 Bad Request")


def scanned(cluster):
    scan = queue.request_scan(cluster).scan_id
    tasks.scan_cluster(str(scan))
    return Scan.objects.get(pk=scan)


def test_a_server_that_echoes_the_token(written):
    with EvilServer(echoing) as server:
        row = scanned(registration.register_kubeconfig(kubeconfig(server.url), registration.Details(name="c")))
    assert (row.state, TOKEN in row.error_detail, TOKEN in written.getvalue()) == ("failed", False, False)
    assert f"Bearer {TOKEN}" in server.requests[0].headers.get(
        "Authorization", server.requests[0].headers.get("authorization", "")
    )


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, KeyError, OverflowError])
def test_a_crash_with_the_token_in_its_text(written, monkeypatch, kind):
    def broken(*_args, **_kwargs):
        raise kind(f"headers were Authorization: Bearer {TOKEN}")

    monkeypatch.setattr("migrations_app.use_cases.scans.worker.collect", broken)
    with EvilServer(lambda _request, wire: wire.answer(b'{"gitVersion": "v1.27.1"}')) as server:
        row = scanned(registration.register_kubeconfig(kubeconfig(server.url), registration.Details(name="c")))
    assert (row.error_code, TOKEN in row.error_detail, TOKEN in written.getvalue()) == ("scan_crashed", False, False)
    assert "scan crashed" in written.getvalue()


def test_a_kubeconfig_that_is_refused(written):
    text = kubeconfig("https://127.0.0.1:1").decode().replace("token:", "tokenFile: /x\n    token:")
    with pytest.raises(registration.InvalidInput) as refused:
        registration.register_kubeconfig(text.encode(), registration.Details(name="c"))
    assert (TOKEN in str(refused.value), TOKEN in written.getvalue()) == (False, False)


def test_signing_in_rightly_and_wrongly(written):
    User.objects.create_user("ada", password=PASSWORD)
    for given in (PASSWORD, PASSWORD + "x"):
        Client().post("/login", {"username": "ada", "password": given})
    assert PASSWORD not in written.getvalue()


def test_requests_with_a_token_and_errors_behind_them(written, monkeypatch):
    secret = tokens.issue(User.objects.create_superuser("ada"), name="t", scopes=["read", "admin"], days=1).secret
    client = Client(raise_request_exception=False)

    def broken(*_args, **_kwargs):
        raise RuntimeError(f"with {secret} and {TOKEN}")

    monkeypatch.setattr("migrations_app.api.clusters.views.fleet_page", broken)
    headers = {"Authorization": f"Bearer {secret}"}
    answer = client.get("/api/v1/clusters", headers=headers)
    body = {"name": "c", "kubeconfig": kubeconfig("https://127.0.0.1:1").decode(), "surplus": 1}
    refused = client.post("/api/v1/clusters", body, content_type="application/json", headers=headers)
    said = answer.content.decode() + refused.content.decode() + written.getvalue()
    assert (answer.status_code, refused.status_code) == (500, 400)
    assert [one for one in (secret, TOKEN) if one in said] == []
    assert "request failed" in written.getvalue()
