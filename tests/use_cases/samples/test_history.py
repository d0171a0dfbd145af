"""The made-up past of sample clusters: complete, marked as such in the audit log, and made once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import LegacyDay, Snapshot
from migrations_app.queries.audit.log import AuditFilters, audit_lines
from migrations_app.queries.fleet.burndown import BurndownFilters, burndown
from migrations_app.queries.rollouts.detail import rollout_detail
from migrations_app.use_cases.audit.proof import prove
from migrations_app.use_cases.samples.history import VERB, make_history
from migrations_app.use_cases.samples.load import load_samples

NAMES = ("live-alpha", "live-halfway", "live-stored")


@pytest.mark.django_db
def test_ninety_days_are_told_once_and_everywhere():
    load_samples()
    now = timezone.now()
    assert (make_history(now=now), make_history(now=now)) == (3, 0)
    rows = {name: Cluster.objects.get(name=name) for name in NAMES}
    days = {name: LegacyDay.objects.filter(cluster=row).count() for name, row in rows.items()}
    assert days == dict.fromkeys(NAMES, 90)
    nodes = burndown(BurndownFilters(cluster=rows["live-halfway"].pk), now=now).curves["nodes"]
    assert list(dict.fromkeys(point.count for point in nodes.points if point.count is not None)) == [12, 9, 6]
    assert {name: stages(row) for name, row in rows.items()} == {
        "live-alpha": ["alpha"],
        "live-halfway": ["alpha", "mixed"],
        "live-stored": ["alpha", "mixed", "beta_v1"],
    }
    done = Rollout.objects.order_by("made_at")
    assert [(row.cluster_name, row.action, row.state) for row in done] == [
        ("live-halfway", "upgrade_crds", "succeeded"),
        ("live-stored", "upgrade_crds", "succeeded"),
    ]
    details = [rollout_detail(row.pk) for row in done]
    assert [detail.done == len(detail.steps) > 0 for detail in details] == [True, True]
    events = [one for one in audit_lines(AuditFilters()) if one.verb == VERB]
    assert {one.outcome for one in events} == {"made up"}
    assert {one.cluster_id for one in events} == {str(row.pk) for row in rows.values()}
    assert prove().ok


def stages(row: Cluster) -> list[str]:
    """The stages that its snapshots tell, oldest first; the oldest is ninety days old."""
    found = list(Snapshot.objects.filter(cluster=row).order_by("scanned_at"))
    assert timezone.now() - found[0].scanned_at > timedelta(days=89)
    assert found[0].report().cluster.name == row.name
    return list(dict.fromkeys(one.stage for one in found))
