"""Readiness tells which dependency is missing; pages need less than the whole."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from karpdash.monitoring import health, schema
from migrations_app.models.monitoring import ProcessHeartbeat
from migrations_app.queries.worker_health import WORKED_QUEUES
from migrations_app.use_cases.runtime import heartbeat


@pytest.fixture
def whole(db, monkeypatch):
    """Everything is there."""
    monkeypatch.setattr(health, "broker_answers", lambda: True)
    monkeypatch.setattr(health, "why_full", lambda: "")
    for queue in WORKED_QUEUES:
        heartbeat.write_heartbeat(f"{queue}@here", [queue])


def ready(client, query=""):
    answer = client.get(f"/readyz{query}")
    assert answer.json()["ready"] == (answer.status_code == 200)
    return answer.status_code, answer.json()["missing"]


def test_ready_when_nothing_is_missing(client, whole):
    assert client.get("/readyz").json() == {"ready": True, "missing": [], "why": {}}


def _down(*_args, **_kwargs):
    raise OperationalError("password=hunter2")


LACKS = {
    "broker": ("broker_answers", lambda: False),
    "disk": ("why_full", lambda: "full"),
    "schema": ("schema_fit", lambda: "behind"),
    "database": ("schema_fit", _down),
}


@pytest.mark.parametrize("name", LACKS)
def test_ready_says_what_is_missing(client, whole, monkeypatch, name):
    place, value = LACKS[name]
    monkeypatch.setattr(health, place, value)
    assert ready(client) == (503, [name])
    assert "hunter2" not in client.get("/readyz").content.decode()
    assert ready(client, "?for=web") == (503 if name in ("schema", "database") else 200, [name])


@pytest.mark.parametrize("queue", WORKED_QUEUES)
def test_a_lane_that_nobody_serves_is_missing(client, whole, queue):
    ProcessHeartbeat.objects.filter(name=f"{queue}@here").update(seen_at=timezone.now() - timedelta(seconds=70))
    name = queue if queue == "beat" else f"worker:{queue}"
    assert (ready(client), ready(client, "?for=web")) == ((503, [name]), (200, [name]))


def test_one_worker_may_serve_every_lane(client, whole):
    ProcessHeartbeat.objects.all().delete()
    heartbeat.write_heartbeat("all@here", WORKED_QUEUES)
    assert ready(client) == (200, [])
    heartbeat.delete_heartbeat("all@here")
    assert ready(client)[0] == 503


@pytest.mark.django_db
def test_a_sign_of_life_that_cannot_be_written_ends_nothing(monkeypatch):
    monkeypatch.setattr(heartbeat.ProcessHeartbeat.objects, "filter", _down)
    closed = []
    monkeypatch.setattr(heartbeat.connection, "close", lambda: closed.append(True))
    heartbeat.write_heartbeat("x", ["scan"])
    heartbeat.delete_heartbeat("x")
    assert closed == [True, True]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("step", "fit"),
    [
        ("9998_of_tomorrow", ""),
        ("9999_needs_0003_drop_a_column", ""),
        ("9999_needs_9998_drop_a_column", "ahead"),
    ],
)
def test_a_newer_schema_is_served_until_it_takes_away(client, whole, step, fit):  # R27
    MigrationRecorder(connection).record_applied("migrations_app", step)
    assert schema.schema_fit() == fit
    assert ready(client, "?for=web") == ((503, ["schema"]) if fit else (200, []))


@pytest.mark.django_db
def test_a_schema_that_lacks_a_step_is_behind():  # R27
    assert schema.schema_fit() == ""
    MigrationRecorder(connection).record_unapplied("migrations_app", "0002_guards")
    assert schema.schema_fit() == "behind"
