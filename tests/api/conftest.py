"""The cast, their clients, and clusters that were scanned."""

import dataclasses
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from migrations_app import tasks
from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster
from migrations_app.samples import fleet
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed

KEYS = (("k1", b"0" * 32),)


@pytest.fixture(autouse=True)
def house(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Keys to seal with, no broker; the list holds the scans that a worker was woken for."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    woken: list[uuid.UUID] = []
    for module in ("clusters.views", "clusters.batches", "scans.scans"):
        monkeypatch.setattr(f"migrations_app.api.{module}.enqueue_scan", woken.append)
    for module in ("plans", "rollouts"):
        place = f"migrations_app.api.{module}.enqueue_rollout"
        monkeypatch.setattr(place, lambda found, _task: woken.append(found) or True)
    assert callable(tasks.enqueue_scan)
    cache.clear()
    return woken


@pytest.fixture
def ada(db: None) -> User:
    """Owns the installation."""
    return User.objects.create_superuser("ada")


@pytest.fixture
def ben(db: None) -> User:
    """May look, and nothing else."""
    user = User.objects.create_user("ben")
    Grant.objects.create(person=user, role=Grant.Role.VIEWER)
    return user


@pytest.fixture
def cleo(db: None) -> User:
    """May start scans."""
    user = User.objects.create_user("cleo")
    user.user_permissions.add(Permission.objects.get(codename="add_scan"))
    return user


class Tool:
    """A client with a bearer token."""

    def __init__(self, owner: User, *scopes: str) -> None:
        self.secret = tokens.issue(owner, name="test", scopes=scopes or ("read", "scan", "admin"), days=1).secret
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Sends JSON; keyword arguments are headers, `if_match` for If-Match."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        content = b"" if body is None else msgspec.json.encode(body)
        kind = "" if body is None else "application/json"
        address = path if path.startswith("http") else f"/api/v1/{path}"
        given = {"Authorization": f"Bearer {self.secret}"} | sent
        return self._client.generic(method, address, content, content_type=kind, headers=given)

    def upload(self, path: str, fields: dict[str, Any], **headers: str) -> Any:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._client.post(
            f"/api/v1/{path}", data=fields, headers={"Authorization": f"Bearer {self.secret}"} | sent
        )


@pytest.fixture
def api(ada: User) -> Tool:
    """Ada's client with every scope."""
    return Tool(ada)


@pytest.fixture
def scanned(db: None) -> Callable[..., Cluster]:
    """Registers a sample cluster and scans it."""

    def make(story: str = "beta_037", *, name: str = "", environment: str = "test") -> Cluster:
        assert fleet.find(story)
        row = Cluster.objects.create(
            name=name or story, source=Cluster.Source.SAMPLE, context=story, environment=environment
        )
        scan(row)
        return Cluster.objects.get(pk=row.pk)

    return make


def scan(row: Cluster, *, check: str = "") -> uuid.UUID:
    """Scans it here and now, or asks that check alone; the scan's id."""
    asked = queue.request_scan(row.pk, by="test", only_check=check)
    claim = queue.claim(asked.scan_id)
    assert claim is not None
    scan_claimed(claim)
    return asked.scan_id
