"""Turns a draft into a preview: fresh read of the cluster, plan, server-side dry run, backups (A02, A07, A26, A27).

Charts come from the registry or from the data folder.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from migrations_app.actions import registry, states
from migrations_app.actions.base import Action, PlanningContext, Unavailable
from migrations_app.actions.helm.request import run_of
from migrations_app.actions.plan import LIFETIME_SECONDS, Forecast, Plan, RolloutLimits, canonical, numbered
from migrations_app.actions.replaced_nodes import replacement_of
from migrations_app.actions.targets.crds import ORIGIN, planned_release
from migrations_app.actions.undo import without_uid
from migrations_app.checks.render.helm import CHARTS
from migrations_app.clients.helm.charts import SCHEME, from_archive, from_folder, pull_chart, read_registry
from migrations_app.clients.kubernetes.api import Writer
from migrations_app.collect.aws_capacity import collect_capacity, unread_capacity
from migrations_app.collect.collect import collect
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, ReadError
from migrations_app.execution.proof import (
    ProofResult,
    permissions_to_execute,
    permissions_to_read,
    prove_steps,
    refuse_missing_rights,
)
from migrations_app.inventory.aws_facts.capacity_room import capacity_lines
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsSeen
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.releases import as_tag
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.readiness import stage
from migrations_app.samples.changeable import charts
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts import journal
from migrations_app.use_cases.rollouts.backups import keep_diffs, store_backup
from migrations_app.use_cases.rollouts.helm.backup import diffs_of_runs, export_release
from migrations_app.use_cases.rollouts.helm.planning import HelmPreview, propose
from migrations_app.use_cases.rollouts.helm.values import delivery_edits
from migrations_app.use_cases.rollouts.start_checks import policy_of
from migrations_app.use_cases.rollouts.transitions import TransitionCause, require_rollout, transition
from migrations_app.use_cases.runtime.connections import connect, connect_aws, connect_writer, limits, network_policy
from migrations_app.use_cases.scans.identity import AnsweringCluster, refuse_other, store_identity

OCI = "oci"
FOLDER = "charts"
OFFICIAL = "official"


def chart_files(inventory: Inventory, parameters: Mapping[str, Any]) -> dict[str, bytes]:
    """The chart's files as JSON by name, and their origin. Raises InvalidInput, InvalidSetting, ReadError."""
    source = str(parameters.get("source") or OCI)
    if source != OCI:
        files = from_folder(settings.ENV.data_dir / FOLDER, source)
        return files | {ORIGIN: f"{FOLDER}/{source}".encode()}
    release = planned_release(
        inventory, stage.detect_running_release(inventory), wanted=str(parameters.get("release") or "")
    )
    address, tag = _registry(), as_tag(release)
    pulled = pull_chart(read_registry(address), CHART, tag=tag, reach=network_policy(), limits=limits())
    return from_archive(pulled.raw) | {ORIGIN: f"{address}/{CHART}:{tag} ({pulled.digest})".encode()}


def _registry() -> str:
    """The registry's address without a trailing slash. Raises InvalidInput, InvalidSetting."""
    setting = settings.ENV.chart_registry
    if not setting:
        words = "no registry is set: name a chart in the data folder's charts, or set KARPDASH_CHART_REGISTRY"
        raise InvalidInput(words, where="source", code="registry_off")
    address: str = CHARTS if setting == OFFICIAL else setting.rstrip("/")
    if not address.startswith(SCHEME):
        raise InvalidSetting(f"must begin with {SCHEME}", where="KARPDASH_CHART_REGISTRY")
    return address


def prepare(rollout_id: uuid.UUID) -> None:
    """Plans a draft. If that fails, the draft expires with the reason as its cause. Safe to call twice.

    1. Read the cluster and plan the steps from that. If nodes are replaced, read the capacity that AWS has for new
       ones.
    2. Check the RBAC rights and dry-run each step.
    3. Store backups and diffs, encrypted.
    4. Move the rollout to `previewed` with the plan and its digest.
    """
    row = require_rollout(rollout_id)
    if row.state != "draft":
        return
    try:
        plan, proven = _plan_and_prove(row)
        _export(row, proven)
        keep_diffs(row, proven.diffs)
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        _expire(row, reason.code, words=str(reason))
        return
    except Conflict as reason:
        _expire(row, reason.code, words=reason.message)
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


def _expire(row: Rollout, code: str, *, words: str) -> None:
    transition(row, "expired", by=WORKER, cause=TransitionCause(code=code, words=words), finished_at=timezone.now())


def _plan_and_prove(row: Rollout) -> tuple[Plan, ProofResult]:
    action = registry.find(row.action)
    if action is None:
        raise Unavailable(f"there is no action {row.action!r} any more")
    inventory = _read_inventory(row)
    policy = policy_of(row.cluster_id)
    limits = RolloutLimits(batch=policy.batch, per_hour=policy.per_hour, pool_percent=policy.pool_percent)
    with connect_writer(row.cluster, user=row.author_name) as writer:
        _keep_identity(row, writer)
        helm = _helm(action, row, inventory=inventory, writer=writer)
        context = _planning_context(action, row, inventory=inventory, writer=writer, limits=limits)
        edits = delivery_edits(context, row.parameters) if action.needs_edits else None
        context = replace(context, helm=helm.proposal if helm else None, edits=edits)
        steps = numbered(action.steps(context, row.parameters))
        draft = _plan(row, writer, context=context, action=action, policy=policy.version)
        planned = msgspec.structs.replace(draft, steps=steps)
        refuse_missing_rights(writer, permissions_to_execute(planned))
        proven = prove_steps(writer, steps)
    if helm is not None:
        export_release(row, helm)
        proven.diffs.update(diffs_of_runs(proven.steps, helm))
    return _with_capacity(row, msgspec.structs.replace(planned, steps=proven.steps), inventory=inventory), proven


def _with_capacity(row: Rollout, plan: Plan, *, inventory: Inventory) -> Plan:
    """The plan with a forecast of the capacity: what its new nodes need, and what pools and AWS have. Unchanged if no
    node is replaced.
    """
    going = replacement_of(plan, inventory)
    if not going.nodes:
        return plan
    lines = capacity_lines(replace(inventory, aws=_aws_capacity(row, inventory)), going)
    return msgspec.structs.replace(plan, forecast=msgspec.structs.replace(plan.forecast, capacity=lines))


def _aws_capacity(row: Rollout, inventory: Inventory) -> AwsSeen:
    """The capacity that AWS has for new nodes now. If it cannot be read, it is shown as not known and the preview
    continues.
    """
    try:
        with connect_aws(row.cluster, user=row.author_name, action="preview") as aws:
            return collect_capacity(aws, inventory)
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        return unread_capacity(Unseen(reason.code, reason.message))


def _helm(action: Action, row: Rollout, *, inventory: Inventory, writer: Writer) -> HelmPreview | None:
    """What helm would do; None for an action without helm. If the rolled back rollout ran helm, this is a rollback of
    helm.
    """
    doing, parameters = action.needs_helm, row.parameters
    ran = [
        step.change for step in _rolled_back_steps(row).get("applied", ()) if step.change and step.change.verb == "helm"
    ]
    if ran:
        doing, parameters = "rollback", {"chart": run_of(ran[0].body).chart}
    if doing is None:
        return None
    return propose(
        row.cluster, user=row.author_name, doing=doing, inventory=inventory, writer=writer, parameters=parameters
    )


def _keep_identity(row: Rollout, writer: Writer) -> None:
    """Raises OtherCluster if another cluster answers than the scanned one; stores the uid if there was none yet
    (A05).
    """
    identity = writer.identity()
    cluster = AnsweringCluster(identity.kube_system_uid, identity.ca)
    refuse_other(row.cluster, cluster)
    with transaction.atomic():
        store_identity(row.cluster_id, cluster)


def _read_inventory(row: Rollout) -> Inventory:
    with connect(row.cluster) as api:
        api.get("/version")
        return collect(api, cluster=row.cluster_name).inventory


def _planning_context(
    action: Action, row: Rollout, *, inventory: Inventory, writer: Writer, limits: RolloutLimits
) -> PlanningContext:
    back = _rolled_back_steps(row)
    touched = (without_uid(step.change.target) for step in back.get("applied", ()) if step.change)
    targets = dict.fromkeys((*action.objects_to_read(inventory, row.parameters), *touched))
    refuse_missing_rights(writer, permissions_to_read(targets))
    objects = {target: read for target in targets if (read := writer.read(target)) is not None}
    return PlanningContext(
        inventory=inventory,
        running=stage.detect_running_release(inventory),
        objects=objects,
        now=inventory.taken_at,
        limits=limits,
        files=_chart_of(row, inventory) if action.needs_chart else {},
        **back,
    )


def _chart_of(row: Rollout, inventory: Inventory) -> dict[str, bytes]:
    """The files of the chart. For a sample cluster they are generated and never fetched."""
    if row.cluster.source != Cluster.Source.TWIN:
        return chart_files(inventory, row.parameters)
    running = stage.detect_running_release(inventory)
    release = planned_release(inventory, running, wanted=str(row.parameters.get("release") or ""))
    return charts.chart(str(release)) | {ORIGIN: b"the sample's own chart"}


def _rolled_back_steps(row: Rollout) -> dict[str, Any]:
    """The applied steps of the rollout that this one rolls back, the uids that they created, and the steps of which it
    is not known whether they were applied.
    """
    original = row.rolls_back
    if original is None:
        return {}
    lines = journal.lines(original.pk)
    plan = msgspec.json.decode(bytes(original.plan), type=Plan)
    created_uids = {line.step: line.new_uid for line in lines if line.outcome == "applied" and line.new_uid}
    return {"applied": states.applied(plan, lines), "unsettled": states.unsettled(plan, lines), "made": created_uids}


def _plan(row: Rollout, writer: Writer, *, context: PlanningContext, action: Action, policy: int) -> Plan:
    forecast: Forecast = action.forecast(context, row.parameters)
    return Plan(
        action=action.id,
        title=action.title,
        parameters=row.parameters,
        cluster=str(row.cluster_id),
        identity=writer.identity(),
        steps=(),
        limits=context.limits,
        forecast=forecast,
        author=row.author_name,
        snapshot=str(row.snapshot_id or ""),
        policy=policy,
        controllers=stage.planned_controllers(context.inventory),
    )


def _export(row: Rollout, proven: ProofResult) -> None:
    for target, read in proven.read.items():
        store_backup(row, target, read=read)
