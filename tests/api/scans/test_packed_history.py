"""What REST and pages tell of an old snapshot is the same after its content was packed."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.test import Client
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, Snapshot
from migrations_app.use_cases.scans.packing import MIN_UNUSED_TIME, OURS, STEP, pack_history
from tests.api.conftest import Tool, scan
from tests.api.scans.test_snapshots import Scanned

REST = (
    "snapshots/{old}",
    "snapshots/{old}/nodes",
    "snapshots/{old}/findings?limit=500",
    "snapshots/{new}/findings?limit=500",
    "snapshots/{old}/export?form=csv",
    "snapshots/{old}/sarif",
    "snapshots?cluster={cluster}",
    "findings?cluster={cluster}&limit=500",
    "clusters/{cluster}/plan",
)
PAGES = (
    "/clusters/{cluster}/?at={old}",
    "/clusters/{cluster}/nodes?at={old}",
    "/clusters/{cluster}/parts?at={old}",
    "/clusters/{cluster}/plan?at={old}",
    "/clusters/{cluster}/iam?at={old}",
    "/clusters/{cluster}/history",
    "/clusters/{cluster}/changes?before={old}&after={new}",
    "/fleet/causes",
    "/",
)
CHANGING = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]+"|data-csrf="[^"]+"')


@pytest.fixture
def two(scanned: Scanned) -> dict[str, object]:
    """A cluster whose two scans found different things."""
    row = scanned("halfway_032")
    old = row.latest_id
    Snapshot.objects.filter(pk=old).update(scanned_at=F("scanned_at") - timedelta(days=1))
    Cluster.objects.filter(pk=row.pk).update(context="beta_037")
    scan(row)
    row.refresh_from_db()
    return {"cluster": row.pk, "old": old, "new": row.latest_id}


def test_an_old_snapshot_tells_the_same(api: Tool, ada: User, two: dict[str, object]) -> None:
    person = Client()
    person.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    MigrationRecorder(connection).migration_qs.filter(app=OURS, name=STEP).update(applied=timezone.now() - timedelta(9))

    def told() -> dict[str, tuple[int, bytes]]:
        rest = {path: api("GET", path.format(**two)) for path in REST}
        pages = {path: person.get(path.format(**two)) for path in PAGES}
        return {path: (said.status_code, CHANGING.sub(b"", said.content)) for path, said in (rest | pages).items()}

    with time_machine.travel(timezone.now(), tick=False):
        before = told()
        pack_history(within=60, now=timezone.now())
        assert pack_history(within=60, now=timezone.now() + MIN_UNUSED_TIME) == 1
        assert Content.objects.get(snapshots=two["old"]).texts is not None
        after = told()
    assert {path: said[0] for path, said in before.items()} == dict.fromkeys(REST + PAGES, 200)
    assert [path for path in before if before[path] != after[path]] == []
    assert len(set(before.values())) == len(REST + PAGES)
