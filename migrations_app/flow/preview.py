"""Draft -> previewed: a fresh look, the plan worked out from it, proven by the server, its objects exported (A07)."""

import uuid
from datetime import timedelta
from typing import Any

import msgspec
from django.utils import timezone

from migrations_app.actions import progress, registry
from migrations_app.actions.base import Action, Scene, Unavailable
from migrations_app.actions.inverse import bare
from migrations_app.actions.plan import LIFETIME_SECONDS, Forecast, Limits, Plan, canonical, numbered
from migrations_app.clients.writer import Writer
from migrations_app.errors import BadInput, BadSetting, Conflict, CouldNotLook
from migrations_app.flow import journal, prove
from migrations_app.flow.charts import chart_files
from migrations_app.flow.collect import collect
from migrations_app.flow.connect import connect, connect_writer
from migrations_app.flow.export import export
from migrations_app.flow.policy import policy_of
from migrations_app.flow.prove import Proven
from migrations_app.flow.record import WORKER
from migrations_app.flow.step_diffs import keep_diffs
from migrations_app.flow.transition import Cause, found, transition
from migrations_app.inventory.inventory import Inventory
from migrations_app.models.rollout import Rollout
from migrations_app.readiness import facts


def prepare(rollout_id: uuid.UUID) -> None:
    """Works a draft out; what keeps it from that is told in its cause, and it is over. Harmless when called twice."""
    row = found(rollout_id)
    if row.state != "draft":
        return
    try:
        plan, proven = _worked_out(row)
        _export(row, proven)
        keep_diffs(row, proven.diffs)
    except (CouldNotLook, BadInput, BadSetting) as reason:
        _give_up(row, reason.code, words=str(reason))
        return
    except Conflict as reason:
        _give_up(row, reason.code, words=reason.message)
        return
    transition(
        row,
        "previewed",
        by=WORKER,
        plan=canonical(plan),
        digest=plan.digest,
        title=plan.title[:300],
        risk=plan.risk,
        policy_version=plan.policy,
        provable=proven.doubts,
        expires_at=timezone.now() + timedelta(seconds=LIFETIME_SECONDS),
    )


def _give_up(row: Rollout, code: str, *, words: str) -> None:
    transition(row, "expired", by=WORKER, cause=Cause(code=code, words=words), finished_at=timezone.now())


def _worked_out(row: Rollout) -> tuple[Plan, Proven]:
    action = registry.find(row.action)
    if action is None:
        raise Unavailable(f"there is no action {row.action!r} any more")
    inventory = _look(row)
    policy = policy_of(row.cluster_id)
    limits = Limits(batch=policy.batch, per_hour=policy.per_hour, pool_percent=policy.pool_percent)
    with connect_writer(row.cluster, user=row.author_name) as writer:
        scene = _scene(action, row, inventory=inventory, writer=writer, limits=limits)
        steps = numbered(action.steps(scene, row.parameters))
        draft = _plan(row, writer, scene=scene, action=action, policy=policy.version)
        planned = msgspec.structs.replace(draft, steps=steps)
        prove.refuse_missing_rights(writer, prove.to_carry_out(planned))
        proven = prove.prove(writer, steps)
    return msgspec.structs.replace(planned, steps=proven.steps), proven


def _look(row: Rollout) -> Inventory:
    with connect(row.cluster) as api:
        api.get("/version")
        return collect(api, cluster=row.cluster_name).inventory


def _scene(action: Action, row: Rollout, *, inventory: Inventory, writer: Writer, limits: Limits) -> Scene:
    back = _taken_back(row)
    touched = (bare(step.change.target) for step in back.get("applied", ()) if step.change)
    wanted = dict.fromkeys((*action.wanted(inventory, row.parameters), *touched))
    prove.refuse_missing_rights(writer, prove.to_read(wanted))
    objects = {target: read for target in wanted if (read := writer.read(target)) is not None}
    return Scene(
        inventory=inventory,
        running=facts.running(inventory),
        objects=objects,
        now=inventory.taken_at,
        limits=limits,
        files=chart_files(inventory, row.parameters) if action.needs_chart else {},
        **back,
    )


def _taken_back(row: Rollout) -> dict[str, Any]:
    """The steps of the rollout that this one takes back, and what they made."""
    original = row.rolls_back
    if original is None:
        return {}
    lines = journal.lines(original.pk)
    plan = msgspec.json.decode(bytes(original.plan), type=Plan)
    made = {line.step: line.new_uid for line in lines if line.outcome == "applied" and line.new_uid}
    return {"applied": progress.applied(plan, lines), "made": made}


def _plan(row: Rollout, writer: Writer, *, scene: Scene, action: Action, policy: int) -> Plan:
    forecast: Forecast = action.forecast(scene, row.parameters)
    return Plan(
        action=action.id,
        title=action.title,
        parameters=row.parameters,
        cluster=str(row.cluster_id),
        identity=writer.identity(),
        steps=(),
        limits=scene.limits,
        forecast=forecast,
        author=row.author_name,
        snapshot=str(row.snapshot_id or ""),
        policy=policy,
    )


def _export(row: Rollout, proven: Proven) -> None:
    for target, read in proven.read.items():
        export(row, target, read=read)
