"""The cast: Ada may do everything, Ben may look, Cleo may scan, Dan is not signed in."""

from dataclasses import replace

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from migrations_app.models.account import Grant
from tests.builders.rows import NOW
from tests.servers.identity_provider import IdentityProvider
from tests.web.sign_in.provider import named

PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    # Argon2 on two busy cores is most of the time of a page test; what hashes a password is not tested here.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _noon():
    """Pages are read at NOW, so that ages do not depend on the day of the run."""
    with time_machine.travel(NOW):
        yield


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def ada(db):
    return signed_in(get_user_model().objects.create_superuser("ada", password=PASSWORD))


@pytest.fixture
def ben(db):
    user = get_user_model().objects.create_user("ben", password=PASSWORD)
    Grant.objects.create(person=user, role=Grant.Role.VIEWER)
    return signed_in(user)


@pytest.fixture
def cleo(db):
    user = get_user_model().objects.create_user("cleo", password=PASSWORD)
    user.user_permissions.add(Permission.objects.get(codename="add_scan"))
    return signed_in(user)


@pytest.fixture
def dan(db):
    return Client()


@pytest.fixture
def woken(monkeypatch):
    """Scans that a worker was woken for; there is no broker in these tests."""
    asked = []
    monkeypatch.setattr(
        "migrations_app.web.clusters.register.enqueue_scan", lambda scan_id: asked.append(scan_id) or True
    )
    return asked


@pytest.fixture(scope="module")
def house():
    server = IdentityProvider()
    yield server
    server.stop()


@pytest.fixture
def provider(house, settings):
    """A real identity provider that the settings name."""
    settings.ENV = replace(settings.ENV, oidc=named(house))
    house.next()
    # The clock of pages stands still at noon of some day, and that of the provider does not.
    with time_machine.travel(time_machine.escape_hatch.time.time()):
        yield house
