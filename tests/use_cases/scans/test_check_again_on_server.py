"""A person mends one thing on a real API server and checks it again, before and after it is mended."""

from dataclasses import replace

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.scans import queue, worker
from tests.actions.on_server import QUICK, gone, installed, put, registered
from tests.builders.pools import a_provisioner

pytestmark = [pytest.mark.apiserver, pytest.mark.django_db(transaction=True)]
CHECK = "legacy_provisioners_gone"


@pytest.fixture
def shop(clean_apiserver, settings):
    settings.ENV = replace(settings.ENV, **QUICK)
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10")
    put(clean_apiserver, a_provisioner())
    row = registered(clean_apiserver)
    scanned(row)
    return row


def scanned(row, check=""):
    asked = queue.request_scan(row.pk, by="ada", only_check=check).scan_id
    worker.scan_claimed(queue.claim(asked))
    return Scan.objects.select_related("snapshot__content").get(pk=asked)


def lists(scan):
    """How many pages of lists were asked for: discovery is read by every scan."""
    return sum(count for name, count in scan.calls.items() if name.startswith("list "))


def test_until_it_is_mended_only_what_the_check_reads_is_read(shop, clean_apiserver):
    whole = Scan.objects.get()
    alone = scanned(shop, CHECK)
    assert (alone.state, alone.snapshot, alone.check_answer["status"]) == ("done", None, "fail")
    assert 0 < lists(alone) < lists(whole) / 2
    assert Cluster.objects.get(pk=shop.pk).latest_id == whole.snapshot_id
    gone(clean_apiserver, "/apis/karpenter.sh/v1alpha5/provisioners/web")
    mended = scanned(shop, CHECK)
    assert (mended.check_answer["status"], mended.only_check) == ("pass", "")
    told = {finding.id: finding.status for finding in mended.snapshot.report().checks}
    assert told[CHECK] == "pass"
    assert lists(mended) == lists(alone) + lists(whole)
