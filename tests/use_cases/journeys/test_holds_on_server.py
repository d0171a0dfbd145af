"""On a real server: Karpenter's own disruption is held for a pause of a journey, and its budgets come back."""

import uuid
from dataclasses import replace

import pytest

from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from migrations_app.models.journey import JourneyHold
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.queries.journeys.disruption_hold import disruption_hold
from migrations_app.use_cases.journeys.lifecycle import (
    resume_journey,
)
from migrations_app.use_cases.journeys.worker import advance_journey
from migrations_app.use_cases.rollouts import preview, worker
from tests.actions.on_server import QUICK, installed, put, registered
from tests.actions.whole_rollouts import lasting
from tests.builders.pools import a_pool
from tests.use_cases.journeys import stage
from tests.use_cases.journeys.test_holds import paused
from tests.use_cases.people import actor, person


@pytest.fixture
def server(clean_apiserver, settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    return clean_apiserver


def walked(row, until):
    """The journey after workers have done what is theirs, until that holds."""
    for _ in range(60):
        advance_journey(row.pk, holder=f"w-{uuid.uuid4()}")
        for made in Rollout.objects.filter(cluster=row.cluster, journey_part__purpose__in=("hold", "release")):
            if made.state == "draft":
                preview.prepare(made.pk)
            elif made.state == "running":
                worker.advance(made.pk, holder=f"w-{uuid.uuid4()}")
        row.refresh_from_db()
        if until():
            return row
    pytest.fail(f"the hold does not get on: {disruption_hold(row.pk)}")


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_budgets_are_held_beside_a_paused_rollout_and_come_back(server, ada, cleo):  # A13, A19, A25
    server.load_crds("v1")
    installed(server, "1.0.14")
    before = put(server, a_pool(), a_pool({"spec.disruption.budgets": [{"nodes": "2"}]}, name="api"))
    paths = [server.admin.path_of(one) for one in before]
    shop = registered(server)
    stage.scanned(shop)
    row = stage.started(stage.approved(stage.previewed(shop, ada), ada, [cleo]), ada)
    row = stage.advanced(row, 2)
    stage.planned(shop)
    row = paused(stage.advanced(row, 2), ada)
    mark = server.audit_mark()

    walked(row, lambda: JourneyHold.objects.get().wait_code == "held")
    now = [server.admin.get(path) for path in paths]
    assert [one["spec"]["disruption"]["budgets"] for one in now] == [NO_NODES, NO_NODES]
    assert all(HELD in one["metadata"]["annotations"] for one in now)
    assert (row.state, stage.work(row).state) == ("paused", "paused")
    server.admin.patch(paths[1], {"spec": {"disruption": {"budgets": [{"nodes": "7"}]}}})  # somebody else

    resume_journey(row.pk, person(ada), by=actor(ada))
    walked(row, lambda: not JourneyHold.objects.exists())
    assert (row.state, stage.work(row).state) == ("running", "running")
    assert lasting(server.admin.get(paths[0])) == lasting(before[0])
    other = server.admin.get(paths[1])
    assert (other["spec"]["disruption"]["budgets"], HELD in other["metadata"].get("annotations", {})) == (
        [{"nodes": "7"}], False,
    )  # fmt: skip
    told = disruption_hold(row.pk)
    assert (told.open, told.left, set(told.nodepools)) == (False, ("api",), {"web", "api"})

    ours = [
        one for one in server.audit_events(mark)
        if one["verb"] == "patch" and one["objectRef"]["resource"] == "nodepools" and "dryRun" not in one["requestURI"]
    ]  # fmt: skip
    lines = Attempt.objects.filter(rollout__journey_part__purpose__in=("hold", "release"), verb="patch")
    assert (len(ours) - 1, set(lines.values_list("outcome", flat=True))) == (lines.count(), {"applied"})
    assert lines.count() == 4
    assert {one.audit_id for one in lines} <= {one["auditID"] for one in ours}
    assert all(one.intent_at <= one.outcome_at for one in lines)
