"""The page of a cluster whose scan waits: it says whether a worker is there to begin it."""

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from migrations_app.models.monitoring import ProcessHeartbeat
from migrations_app.models.scan import Scan
from tests.builders.rows import a_cluster, a_scan
from tests.web.pages import text

pytestmark = pytest.mark.django_db


SCAN = "No worker serves what this scan waits for (scan): it does not go on until one does."
BOTH = SCAN.replace("(scan)", "(probe, scan)")
FREE = "It starts as soon as a worker is free"


@pytest.mark.parametrize(
    ("lanes", "source", "is_probed", "told"),
    [
        ("probe,scan", "kubeconfig", False, FREE),
        ("probe,action", "kubeconfig", False, SCAN),
        ("", "kubeconfig", False, BOTH),
        ("", "kubeconfig", True, SCAN),
        ("scan", "kubeconfig", True, FREE),
        ("scan", "bundle", False, FREE),
        ("probe", "sample", False, SCAN),
    ],
)
def test_a_scan_that_waits_says_that_no_worker_runs(ada, lanes, source, is_probed, told):  # R05
    ProcessHeartbeat.objects.create(name="w", lanes=lanes, seen_at=Now())
    shop = a_cluster("shop", source=source)
    Scan.objects.filter(pk=a_scan(shop, state="queued").pk).update(probed_at=Now() if is_probed else None)
    said = text(ada.get(reverse("cluster-progress", args=[shop.pk])))
    assert (told in said, ("No worker" in said)) == (True, told.startswith("No"))
