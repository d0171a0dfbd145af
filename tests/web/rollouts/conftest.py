"""The cast of rollouts: Ada operates, Cleo approves, Eve does both, Gil administers, Ben looks."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.models.cluster import Cluster
from tests.builders.rollouts import entitled
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.conftest import PASSWORD, signed_in


class Hand:
    """One person at a browser of their own."""

    def __init__(self, name: str, *rights: str) -> None:
        self.user = entitled(User.objects.create_user(name, password=PASSWORD), *rights)
        self.client: Client = signed_in(self.user)

    def get(self, path: str, **more):
        return self.client.get(path, **more)

    def post(self, path: str, said=None, **more):
        return self.client.post(path, said or {}, **more)

    def again(self) -> None:
        """Gives the password once more."""
        answer = self.client.post("/sign-in-again", {"password": PASSWORD, "next": "/rollouts/"})
        assert answer.status_code == 302


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.ENV = replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


@pytest.fixture
def ada(db):
    return Hand("ada", "operate_rollout")


@pytest.fixture
def cleo(db):
    return Hand("cleo", "approve_rollout")


@pytest.fixture
def eve(db):
    return Hand("eve", "operate_rollout", "approve_rollout", "break_glass")


@pytest.fixture
def gil(db):
    return Hand("gil", "administer_policy")


@pytest.fixture
def ben(db):
    return Hand("ben", "view_cluster")


@pytest.fixture
def shop(db) -> Cluster:
    cluster = a_cluster("shop", environment="production")
    a_snapshot(cluster)
    return cluster


@pytest.fixture
def woken(monkeypatch):
    """(rollout, task) that a worker was woken for; there is no broker in these tests."""
    found = []
    for module in ("new", "commands"):
        monkeypatch.setattr(
            f"migrations_app.web.rollouts.{module}.enqueue_rollout",
            lambda row, task: found.append((row, task.name)) or True,
        )
    return found


@pytest.fixture(autouse=True)
def _after_commit(monkeypatch, woken):
    """What is done after the commit is done at once: a test's transaction is never committed."""
    from django.db import transaction

    monkeypatch.setattr(transaction, "on_commit", lambda work, using=None, robust=False: work())
