"""Pages that wait for workers say so if no worker has been heard of, and which command starts one."""

import time

import pytest
from django.db.models.functions import Now

from migrations_app.models.monitoring import ProcessHeartbeat
from migrations_app.queries import worker_health
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db
SILENT = "No worker has been heard of for a minute"


@pytest.fixture(autouse=True)
def _started_long_ago(monkeypatch):
    monkeypatch.setattr(worker_health, "STARTED", float("-inf"))


def heard_of(*queues):
    ProcessHeartbeat.objects.create(name="w", lanes=",".join(queues), seen_at=Now())


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        ((), f"{SILENT}: probe, scan, beat. No scan runs"),
        (("probe", "beat", "upkeep"), f"{SILENT}: scan. No scan runs"),
        (("probe", "scan", "beat"), ""),
    ],
)
def test_the_fleet_says_that_no_scan_runs(ada, heard, said):
    """It listed results as if they were renewed, and called a scan of the fleet running."""
    a_snapshot(a_cluster("shop"))
    if heard:
        heard_of(*heard)
    words = text(ada.get("/"))
    assert (SILENT in words, said in words) == (bool(said), True)
    assert ("karpdash worker scan" in words) == bool(said)


def test_a_rollout_that_waits_for_a_worker_says_so(ada):
    shop = a_cluster("shop")
    running, approved = (a_rollout(shop, state=state) for state in ("running", "approved"))
    words = text(ada.get(f"/rollouts/{running.pk}/"))
    assert f"{SILENT}: action. No plan is made and no rollout goes on" in words
    assert SILENT not in text(ada.get(f"/rollouts/{approved.pk}/"))
    heard_of("action")
    assert SILENT not in text(ada.get(f"/rollouts/{running.pk}/"))


def test_notifications_say_that_none_is_sent(ada):
    assert f"{SILENT}: upkeep, beat. No notification is sent." in text(ada.get("/settings/notifications"))
    heard_of("upkeep", "beat")
    assert SILENT not in text(ada.get("/settings/notifications"))


def test_nothing_is_said_in_the_first_minute(ada, monkeypatch):
    """It was said for the first seconds of `karpdash up`, whose workers start beside the pages."""
    a_snapshot(a_cluster("shop"))
    monkeypatch.setattr(worker_health, "STARTED", time.monotonic() - 50)
    assert SILENT not in text(ada.get("/"))
    monkeypatch.setattr(worker_health, "STARTED", time.monotonic() - 61)
    assert SILENT in text(ada.get("/"))
