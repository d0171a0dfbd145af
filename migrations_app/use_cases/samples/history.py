"""Ninety days of history for new sample clusters, so that burndown, history and audit are not empty.

Snapshots and plans are made by the code for real ones, from former states of the clusters. The audit log stays true:
each event is recorded with the current time, and says that it is about an invented past.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from migrations_app.actions import registry
from migrations_app.actions.base import Action, PlanningContext
from migrations_app.actions.plan import Plan, RolloutLimits, canonical, numbered
from migrations_app.actions.states import GATE
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.execution.proof import prove_steps
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Approval, Attempt, Rollout
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.models.scan import LegacyDay, Snapshot
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.progress.legacy_counts import LegacyCounts, legacy_columns, legacy_counts
from migrations_app.readiness.report import CollectResult, ScanResult
from migrations_app.readiness.stage import detect_running_release
from migrations_app.samples.changeable import charts, clusters
from migrations_app.samples.changeable.clusters import ChangeableSample
from migrations_app.samples.changeable.past import DAYS, PastRollout, PastStage, past
from migrations_app.samples.kubernetes_objects import server_version
from migrations_app.twin.ports.reading import TwinReader
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.twin.server import Twin
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.samples.people import PEOPLE
from migrations_app.use_cases.scans.store import publish_past
from migrations_app.use_cases.twins.state import MINOR

EVERY = 3
"""Days between two snapshots."""
BEGAN, TOOK = timedelta(hours=10), timedelta(minutes=9)
VERB = "sample.history"


def make_history(*, now: datetime) -> int:
    """Creates a history for every sample cluster without an earlier snapshot. Returns how many got one."""
    rows = Cluster.objects.filter(sample_twin__isnull=False).order_by("name")
    count = 0
    for cluster in rows:
        sample = clusters.find(SampleTwin.objects.values_list("sample", flat=True).get(pk=cluster.pk))
        if sample is not None and not _has_past(cluster, now=now):
            count += _write(cluster, sample, now=now.astimezone(UTC))
    return count


def _has_past(cluster: Cluster, *, now: datetime) -> bool:
    return Snapshot.objects.filter(cluster=cluster, scanned_at__lt=now - timedelta(days=1)).exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStageResult:
    """The result of a scan in a stage of the history, and the plan of the rollout that ended the stage."""

    stage: PastStage
    until: int
    scanned: ScanResult
    left: LegacyCounts
    plan: Plan | None = None


def _write(cluster: Cluster, sample: ChangeableSample, *, now: datetime) -> bool:
    """Stores the history of one cluster completely or not at all: after a killed process it is made again.

    False if another process was faster, or the cluster was removed.
    """
    stages = past(sample.name)
    ends = [*(stage.days_ago for stage in stages[1:]), 0]
    stage_results = [
        _scan_stage(cluster, sample, stage=stage, until=end, now=now) for stage, end in zip(stages, ends, strict=True)
    ]
    with transaction.atomic():
        # The update locks the row, so that only one of two processes finds no history.
        if not Cluster.objects.filter(pk=cluster.pk).update(created_at=now - timedelta(days=DAYS)):
            return False
        if _has_past(cluster, now=now):
            return False
        for stage_result in stage_results:
            _store(cluster, stage_result, now=now)
    return True


def _scan_stage(
    cluster: Cluster, sample: ChangeableSample, *, stage: PastStage, until: int, now: datetime
) -> HistoryStageResult:
    at = now - timedelta(days=stage.days_ago)
    documents = stage.build(at)
    twin = Twin(lambda: at, minor=MINOR, seed=str(uuid.uuid4()), version=server_version(sample.cluster.kubernetes))
    twin.load(documents)
    aws = clusters.account(sample, tuple(documents), tagged=stage.release.startswith("1."), at=at)
    collected = add_aws(collect(TwinReader(twin), cluster=cluster.name), aws)
    scanned = evaluate(collected, target=cluster.target or None)
    left: LegacyCounts = {**legacy_counts(collected.inventory, scanned.report), **legacy_columns(scanned.report)}
    plan = _planned(cluster, twin, collected=collected, rollout=stage.ended_by) if stage.ended_by else None
    return HistoryStageResult(stage=stage, until=until, scanned=scanned, left=left, plan=plan)


def _store(cluster: Cluster, past_stage: HistoryStageResult, *, now: datetime) -> None:
    first, stage = past_stage.stage.days_ago, past_stage.stage
    publish_past(cluster, past_stage.scanned, moments=list(_moments(first, end=past_stage.until, now=now)))
    days = (now.date() - timedelta(days=number) for number in range(first, past_stage.until, -1))
    rows = [LegacyDay(cluster=cluster, day=day, **past_stage.left) for day in days]
    LegacyDay.objects.bulk_create(rows, ignore_conflicts=True)
    if stage.ended_by is not None and past_stage.plan is not None:
        _rollout(cluster, stage.ended_by, plan=past_stage.plan, now=now)
    _record_past(cluster, f"{cluster.name} ran {stage.release}", at=now - timedelta(days=first))


def _moments(first: int, *, end: int, now: datetime) -> Iterator[datetime]:
    for number in range(first, max(end, 1), -EVERY):
        yield now - timedelta(days=number)


def _planned(cluster: Cluster, twin: Twin, *, collected: CollectResult, rollout: PastRollout) -> Plan:
    action = registry.find(rollout.action)
    if action is None:
        raise LookupError(rollout.action)
    writer, limits = TwinWriter(twin), RolloutLimits()
    context = _planning_context(action, writer, collected=collected, rollout=rollout, limits=limits)
    return Plan(
        action=action.id,
        title=action.title,
        parameters=dict(rollout.parameters),
        cluster=str(cluster.pk),
        identity=writer.identity(),
        steps=prove_steps(writer, numbered(action.steps(context, rollout.parameters))).steps,
        limits=limits,
        forecast=action.forecast(context, rollout.parameters),
        author=PEOPLE[0].name,
        snapshot="",
        policy=0,
    )


def _planning_context(
    action: Action, writer: TwinWriter, *, collected: CollectResult, rollout: PastRollout, limits: RolloutLimits
) -> PlanningContext:
    inventory = collected.inventory
    running: DetectedRelease = detect_running_release(inventory)
    targets = dict.fromkeys(action.objects_to_read(inventory, rollout.parameters))
    return PlanningContext(
        inventory=inventory,
        running=running,
        objects={target: read for target in targets if (read := writer.read(target)) is not None},
        now=inventory.taken_at,
        limits=limits,
        files=charts.chart(str(rollout.parameters["release"])) if action.needs_chart else {},
    )


def _rollout(cluster: Cluster, rollout: PastRollout, *, plan: Plan, now: datetime) -> None:
    began = (now - timedelta(days=rollout.days_ago)).replace(hour=0, minute=0) + BEGAN
    author, approver = (User.objects.filter(username=person.name).first() for person in PEOPLE)
    row = Rollout.objects.create(
        cluster=cluster,
        cluster_name=cluster.name,
        action=plan.action,
        title=plan.title,
        risk=plan.risk,
        parameters=plan.parameters,
        digest=plan.digest,
        plan=canonical(plan),
        state="succeeded",
        author=author,
        author_name=PEOPLE[0].name,
        started_by_name=PEOPLE[0].name,
        policy_version=plan.policy,
        nonce=uuid.uuid4().hex,
        made_at=began - TOOK,
        expires_at=began + TOOK,
        started_at=began,
        finished_at=began + TOOK,
        note="Made-up history of a sample cluster",
    )
    approval = Approval.objects.create(
        rollout=row, approver=approver, approver_name=PEOPLE[1].name, digest=row.digest, nonce=row.nonce
    )
    Approval.objects.filter(pk=approval.pk).update(at=began)  # else `at` is the time of the insert
    Attempt.objects.bulk_create(_lines(row, plan, began=began))
    _record_past(cluster, row.title, at=began, rollout=row)


def _lines(row: Rollout, plan: Plan, *, began: datetime) -> list[Attempt]:
    attempts: list[Attempt] = []
    for number, step in enumerate(plan.steps, 1):
        at = began + timedelta(seconds=5 * number)
        same = {"rollout": row, "step": step.id, "fence": 1, "actor": "karpdash", "intent_at": at, "outcome_at": at}
        if step.change is not None:
            attempts.append(
                Attempt(
                    number=1, verb=step.change.verb, path=step.change.path, body_digest=step.digest,
                    outcome="applied", status=200, **same,
                )
            )  # fmt: skip
        attempts.append(
            Attempt(number=2, verb=GATE, path="", body_digest="", outcome="noop", reason="verified", **same)
        )
    return attempts


def _record_past(cluster: Cluster, subject: str, *, at: datetime, rollout: Rollout | None = None) -> None:
    record(
        Event(
            verb=VERB,
            actor=Actor(name="karpdash", method="system"),
            object=subject[:200],
            outcome="made up",
            cluster_id=str(cluster.pk),
            correlation=str(rollout.pk) if rollout else "",
            plan_digest=rollout.digest if rollout else "",
            detail={"happened_at": at.isoformat(), "days": DAYS, "why": "history of a sample cluster"},
        )
    )
