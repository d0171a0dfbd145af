"""Without its audit event nothing is sent: the intent fails with it, and a lagging sink pauses what runs (A55)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, deletion
from migrations_app.actions.conditions import Deleted
from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits, Step, canonical, numbered
from migrations_app.actions.request import ObjectVersion
from migrations_app.execution.interface import RolloutHalted
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.audit.delivery_lag import MAX_EVENTS
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts import journal, lease, worker
from migrations_app.use_cases.rollouts.journal import ExecutionContext, StopRequested
from tests.use_cases.audit.signed_log import with_sinks, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def work() -> ExecutionContext:
    cluster = Cluster.objects.create(name="shop", source=Cluster.Source.KUBECONFIG)
    target = ObjectTarget("", "v1", "nodes", "Node", "node-1", uid="u-1")
    step = Step(id="", title="Delete", change=deletion(target), postconditions=(Deleted(),), risk="high", digest="")
    plan = Plan(
        action="test",
        title="Test",
        parameters={},
        cluster=str(cluster.pk),
        steps=numbered([step]),
        limits=RolloutLimits(),
        identity=ClusterIdentity(kube_system_uid="k", ca="f", endpoint="https://shop"),
        forecast=Forecast(),
        author="ada",
        snapshot="",
        policy=1,
    )
    now = timezone.now()
    row = Rollout.objects.create(
        cluster=cluster,
        cluster_name="shop",
        action="test",
        title="Test",
        risk=plan.risk,
        digest=plan.digest,
        plan=canonical(plan),
        state="running",
        author_name="ada",
        made_at=now,
        expires_at=now + timedelta(hours=4),
    )
    lease_token = lease.acquire(cluster.pk, "w-1")
    assert lease_token is not None
    return ExecutionContext(row=row, plan=plan, lease_token=lease_token, actor=WORKER)


def intend(work: ExecutionContext):
    step = work.plan.steps[0]
    assert step.change is not None
    return journal.record_intent(
        work,
        step,
        change=step.change,
        object_version=ObjectVersion(uid="u-1", resource_version="5"),
        body_digest="d" * 64,
    )


class Refusing:
    """Lets every insert into the audit log fail, as a full disk or a missing right would."""

    def __init__(self, table: str) -> None:
        self.table, self.refused = table, 0

    def __call__(self, execute_query, sql, params, many, context):
        if sql.startswith(("INSERT", "UPDATE")) and f'"{self.table}"' in sql.partition("(")[0]:
            self.refused += 1
            raise DatabaseError("could not extend file: No space left on device")
        return execute_query(sql, params, many, context)


@pytest.mark.parametrize("table", ["migrations_app_auditevent", "migrations_app_audithead"])
def test_two_hundred_failed_audit_rows_and_not_one_intent(work, table):  # A19, A55, R25, T26
    write()
    refusing = Refusing(table)
    with connection.execute_wrapper(refusing):
        for _ in range(100):
            with pytest.raises((DatabaseError, RolloutHalted)):
                intend(work)
    assert (refusing.refused, Attempt.objects.count(), AuditEvent.objects.count()) == (100, 0, 1)
    assert intend(work).number == 1
    assert [row.verb for row in AuditEvent.objects.order_by("seq")] == ["test.done", "step.intent"]


def test_a_lagging_sink_stops_the_next_request_with_its_cause(work, settings, tmp_path):  # A55, R30
    with_sinks(settings, file=str(tmp_path / "none" / "outside.jsonl"))
    intend(work)
    write(MAX_EVENTS + 1)
    with pytest.raises(StopRequested) as told:
        intend(work)
    assert (told.value.code, Attempt.objects.count()) == ("audit", 1)


def test_a_running_rollout_pauses_with_the_cause_audit(work, settings, tmp_path):  # A55
    with_sinks(settings, file=str(tmp_path / "none" / "outside.jsonl"))
    write(MAX_EVENTS + 1)
    with pytest.raises(StopRequested) as told:
        worker._work(work, writer=None)
    worker._stop(work, told.value)
    work.row.refresh_from_db()
    assert (work.row.state, work.row.cause_code) == ("paused", "audit")
    assert "events behind" in work.row.cause


def test_settings_keep_their_sinks_apart(settings):
    with_sinks(settings, url="https://audit.example/in")
    both = replace(settings.ENV.audit_sinks, file="/var/log/karpdash.jsonl")
    assert both.targets == ("file:/var/log/karpdash.jsonl", "https://audit.example/in")
