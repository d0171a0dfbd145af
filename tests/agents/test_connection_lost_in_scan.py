"""The connection to an agent is lost during a scan: the scan fails, and no half of a cluster is published."""

from dataclasses import replace
from typing import Any

import pytest

from migrations_app.collect.collect import collect
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import CollectResult, PartLine
from migrations_app.use_cases.scans import worker
from tests.agents.rig import scanned

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("code", ["agent_lost", "agent_revoked", "agent_busy", "agent_forged", "no_broker"])
def test_half_of_a_cluster_is_not_published(monkeypatch: pytest.MonkeyPatch, code: str) -> None:  # R01
    cluster = Cluster.objects.create(name="far", source="sample", context="beta_037")

    def half(*args: Any, **named: Any) -> CollectResult:
        found = collect(*args, **named)
        return replace(found, parts=(*found.parts[:-1], PartLine(name="nodes", seen=False, why=code, detail="gone")))

    monkeypatch.setattr(worker, "collect", half)
    scan = scanned(cluster)
    assert (scan.state, scan.error_code, cluster.latest) == ("failed", code, None)
