"""A hostile API server says every shape of a secret in its errors; what is stored is then read at every door (T23).

`tests/test_redaction.py` has the doors that are functions; here the whole product stands between.
"""

import base64
import dataclasses
import io
import json
from collections.abc import Iterator

import pytest
import yaml
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from migrations_app import tasks
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters import registration
from migrations_app.use_cases.scans import queue
from tests.builders.log_text import captured_log
from tests.fakes.evilk8s import AUTHORITY, EvilServer
from tests.redaction_cases import SHAPES, Shape

PAGES = (
    "cluster",
    "cluster-parts",
    "cluster-history",
    "cluster-plan",
    "cluster-nodes",
    "cluster-iam",
)
WHOLE = ("fleet", "fleet-csv", "fleet-causes", "audit", "audit-jsonl", "audit-csv", "notifications")
REST = (
    *("clusters", "clusters/{cluster}", "clusters/{cluster}/scans", "clusters/{cluster}/plan"),
    *("clusters/{cluster}/iam", "fleet/summary", "audit", "audit/export", "deliveries", "findings"),
    *("snapshots", "snapshots/{snapshot}", "snapshots/{snapshot}/nodes", "snapshots/{snapshot}/sarif"),
    "snapshots/{snapshot}/export?form=markdown",
)
OPEN = ("/readyz", "/healthz")


class Talkative:
    """Answers what a server is, and everything else with the next shape of a secret."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []

    def __call__(self, request, wire) -> None:
        if request.path == "/version":
            return wire.answer(b'{"major": "1", "minor": "30", "gitVersion": "v1.30.1"}')
        shape = SHAPES[len(self.shapes) % len(SHAPES)]
        self.shapes.append(shape)
        text = {"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": shape.text}
        return wire.answer(json.dumps(text).encode(), status="422 Unprocessable Entity")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """The log of everything at DEBUG."""
    with captured_log() as stream:
        yield stream


def kubeconfig(url: str) -> bytes:
    authority = base64.b64encode(AUTHORITY.pem.encode()).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {"token": "a-token-of-the-cluster"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
    ).encode()  # fmt: skip


@pytest.fixture
def scanned(db, settings):
    """A cluster whose server has said every shape, and what it said."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True)
    talkative = Talkative()
    with EvilServer(talkative) as server:
        cluster = registration.register_kubeconfig(kubeconfig(server.url), registration.Details(name="evil"))
        for _ in range(len(SHAPES)):
            tasks.scan_cluster(str(queue.request_scan(cluster).scan_id))
            if len(talkative.shapes) >= len(SHAPES):
                break
    for shape in SHAPES:
        record_audit_event("scan.requested", "evil", why=shape.text, text=[shape.text])
    return cluster, talkative


def everything_stored() -> str:
    """Every value of every row, and SQLite's or PostgreSQL's own text of it."""
    rows = [repr(list(model._default_manager.values())) for model in apps.get_models(include_auto_created=True)]
    dump = io.StringIO()
    call_command("dumpdata", "migrations_app", "sessions", stdout=dump)
    return "\n".join([*rows, dump.getvalue()])


def read(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code in (200, 503), (address, answer.status_code, answer.content[:300])
    return b"".join(answer).decode() if answer.streaming else answer.content.decode()


def doors(cluster, admin: Client, token: str) -> dict[str, str]:
    """What each door shows."""
    names = {"cluster": cluster, "snapshot": Snapshot.objects.filter(cluster=cluster).latest("pk").pk}
    shown = {name: read(admin, reverse(name, args=[cluster])) for name in PAGES}
    shown |= {name: read(admin, reverse(name)) for name in WHOLE} | {path: read(admin, path) for path in OPEN}
    tool = Client(headers={"Authorization": f"Bearer {token}"})
    shown |= {path: read(tool, f"/api/v1/{path.format(**names)}") for path in REST}
    shown["metrics"] = read(tool, "/metrics")
    return shown


def found_in(text: str) -> list[str]:
    """Names of the shapes whose secret stands there, as it is or as JSON, HTML or white space make it."""
    plain = "".join(text.replace("&quot;", '"').replace("&#x27;", "'").replace("&amp;", "&").split())
    return [shape.name for shape in SHAPES if "".join(shape.hidden.split()) in plain]


def test_nothing_that_a_server_says_leaves_by_any_door(scanned, admin_client, admin_user, written):
    cluster, talkative = scanned
    assert {shape.name for shape in talkative.shapes} == {shape.name for shape in SHAPES}
    assert Scan.objects.filter(cluster=cluster, state="done").exists()
    secret = tokens.issue(admin_user, name="t", scopes=["read", "audit", "metrics", "admin"], days=1).secret
    shown = doors(cluster, admin_client, secret)
    shown |= {"database": everything_stored(), "log": written.getvalue()}
    assert {name: found for name, text in shown.items() if (found := found_in(text))} == {}
    assert "422" in shown["cluster-parts"]  # the answers did arrive


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_each_shape_would_be_seen(shape):
    assert shape.name in found_in(f"<p>{shape.text}</p>")
