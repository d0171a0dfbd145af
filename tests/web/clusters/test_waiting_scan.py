"""The page of a cluster whose scan waits: it says whether a worker is there to begin it."""

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from migrations_app.models.monitoring import ProcessHeartbeat
from tests.builders.rows import a_cluster, a_scan
from tests.web.pages import text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("lanes", "told"),
    [
        ("probe,scan", "It starts as soon as a worker is free"),
        ("probe,action", "No worker of scan is running: nothing is scanned until one is."),
        ("", "No worker of probe, scan is running: nothing is scanned until one is."),
    ],
)
def test_a_scan_that_waits_says_that_no_worker_runs(ada, lanes, told):  # R05
    ProcessHeartbeat.objects.create(name="w", lanes=lanes, seen_at=Now())
    shop = a_cluster("shop")
    a_scan(shop, state="queued")
    said = text(ada.get(reverse("cluster-progress", args=[shop.pk])))
    assert (told in said, ("No worker" in said)) == (True, told.startswith("No"))
