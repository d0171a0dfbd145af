"""Turns a draft into a preview: fresh read of the cluster, plan, server-side dry run, backups (A02, A07, A26, A27).

The chart of a release comes from the registry or from the data folder.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from migrations_app.actions import registry, states
from migrations_app.actions.base import Action, PlanningContext, Unavailable
from migrations_app.actions.changes import Change, ObjectTarget, RbacNeed
from migrations_app.actions.conditions import Tree, all_hold, projected, value_at
from migrations_app.actions.plan import LIFETIME_SECONDS, Forecast, Plan, RolloutLimits, Step, canonical, numbered
from migrations_app.actions.request import ObjectVersion, marks
from migrations_app.actions.targets.crds import ORIGIN, landing
from migrations_app.actions.undo import bare
from migrations_app.checks.render.helm import CHARTS
from migrations_app.clients.helm.charts import SCHEME, from_archive, from_folder, pull_chart, read_registry
from migrations_app.clients.kubernetes.api import Writer, WriteResult
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, ReadError
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.releases import as_tag
from migrations_app.models.rollout import Rollout
from migrations_app.readiness import stage
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.collect.collect import collect
from migrations_app.use_cases.rollouts import journal
from migrations_app.use_cases.rollouts.backups import export, keep_diffs
from migrations_app.use_cases.rollouts.start_checks import policy_of
from migrations_app.use_cases.rollouts.transitions import TransitionCause, rollout_for_update, transition
from migrations_app.use_cases.runtime.connections import connect, connect_writer, limits, network_policy
from migrations_app.use_cases.scans.identity import AnsweringCluster, keep, refuse_other

OCI = "oci"
FOLDER = "charts"
OFFICIAL = "official"


def chart_files(inventory: Inventory, parameters: Mapping[str, Any]) -> dict[str, bytes]:
    """The chart's files by name, as JSON, plus their origin. Raises InvalidInput, InvalidSetting, ReadError."""
    source = str(parameters.get("source") or OCI)
    if source != OCI:
        found = from_folder(settings.ENV.data_dir / FOLDER, source)
        return found | {ORIGIN: f"{FOLDER}/{source}".encode()}
    release = landing(inventory, stage.detect_running_release(inventory), wanted=str(parameters.get("release") or ""))
    address, tag = _registry(), as_tag(release)
    pulled = pull_chart(read_registry(address), CHART, tag=tag, reach=network_policy(), limits=limits())
    return from_archive(pulled.raw) | {ORIGIN: f"{address}/{CHART}:{tag} ({pulled.digest})".encode()}


def _registry() -> str:
    """The registry's address without a trailing slash. Raises InvalidInput, InvalidSetting."""
    given = settings.ENV.chart_registry
    if not given:
        words = "no registry is set: name a chart in the data folder's charts, or set KARPDASH_CHART_REGISTRY"
        raise InvalidInput(words, where="source", code="registry_off")
    address: str = CHARTS if given == OFFICIAL else given.rstrip("/")
    if not address.startswith(SCHEME):
        raise InvalidSetting(f"must begin with {SCHEME}", where="KARPDASH_CHART_REGISTRY")
    return address


LATER = "rests on what an earlier step brings, so no dry run can prove it now"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """The result of the dry runs.

    `read` are the objects by target, `doubts` the reasons for steps without a successful dry run, `diffs` the object
    now and as the server would store it.
    """

    steps: tuple[Step, ...]
    read: dict[ObjectTarget, Tree]
    doubts: dict[str, str]
    diffs: dict[str, tuple[Tree | None, Tree | None]]


def refuse_missing_rights(writer: Writer, asked: Iterable[tuple[RbacNeed, str]]) -> None:
    """Raises InvalidInput `missing_rights` with the RBAC rules to add if the server denies any of them.

    `asked` are the rights with the object's name, since a rule may be limited to named objects.
    """
    names: dict[RbacNeed, list[str]] = {}
    for need, name in asked:
        names.setdefault(need, []).append(name)
    missing = [need.rule for need in sorted(names) if not _allowed(writer, need, names=names[need])]
    if missing:
        raise InvalidInput("missing rules: " + " ".join(f"- {rule}" for rule in missing), code="missing_rights")


def _allowed(writer: Writer, need: RbacNeed, *, names: list[str]) -> bool:
    if writer.may(need):
        return True
    return need.verb != "create" and all(writer.may(need, name=name) for name in names)


def to_read(targets: Iterable[ObjectTarget]) -> Iterator[tuple[RbacNeed, str]]:
    """The rights to read those objects."""
    return ((RbacNeed(verb="get", group=one.group, plural=one.plural), one.name) for one in targets)


def to_carry_out(plan: Plan) -> Iterator[tuple[RbacNeed, str]]:
    """The rights that the plan's requests and undo requests need, and the reads before them."""
    changes = [change for step in plan.steps for change in (step.change, step.undo) if change]
    yield from to_read(change.target for change in changes)
    yield from to_read({source.target: None for step in plan.steps for source in step.computed_from})
    yield from ((change.need, change.target.name) for change in changes)


def prove_steps(writer: Writer, steps: tuple[Step, ...]) -> ProofResult:
    """Reads every target, ties each step to it, and sends each request as a dry run.

    1. Read the target.
    2. Tie the step to it: store the digest of the fields that the step depends on.
    3. Dry-run the request, unless it depends on an earlier step; then its doubt is recorded.

    Raises InvalidInput `refused` if the server would refuse a step that does not depend on an earlier one.
    """
    read: dict[ObjectTarget, Tree] = {}
    tied, doubts, diffs = [], {}, {}
    touched: set[str] = set()
    refuse_changed_sources(writer, steps)
    for step in steps:
        change = step.change
        if change is None:
            tied.append(step)
            continue
        found = writer.read(change.target)
        if found is not None:
            read[change.target] = found
        again = change.target.path in touched
        tied.append(_tied(step, found, again=again))
        if again or _waits(change, touched):
            doubts[step.id] = LATER
        else:
            diffs[step.id] = (found, _dry(writer, step, found=found, doubts=doubts))
        touched.add(change.target.path)
    return ProofResult(steps=tuple(tied), read=read, doubts=doubts, diffs=diffs)


def refuse_changed_sources(writer: Writer, steps: Iterable[Step]) -> None:
    """Raises InvalidInput `changed` if an object that a request is computed from is not as it was read before."""
    for source in dict.fromkeys(source for step in steps for source in step.computed_from):
        if why := source.difference(writer.read(source.target)):
            raise InvalidInput(f"{why} while the plan was made; try again", code="changed")


def _tied(step: Step, found: Tree | None, *, again: bool) -> Step:
    """The step with the digest of the fields that it depends on.

    A step planned from an older read is refused, since it would overwrite a change made in between. A later step on the
    same object keeps the digest that it was planned with. Raises InvalidInput `changed`.
    """
    change = step.change
    if change is None:
        return step
    uid = str(value_at(found, ("metadata", "uid")) or "")
    if change.target.uid and change.target.uid != uid:
        raise InvalidInput(f"{change.target.said} was made anew meanwhile", code="changed")
    now = projected(found, step.rests_on)
    if not step.digest:
        return msgspec.structs.replace(step, digest=now)
    if step.digest != now and not again:
        raise InvalidInput(f"{change.target.said} was changed while the plan was made; try again", code="changed")
    return step


def _waits(change: Change, touched: set[str]) -> bool:
    """Whether an earlier step creates the CRD of this object's kind."""
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{change.target.plural}.{change.target.group}"
    return crd in touched


def _dry(writer: Writer, step: Step, *, found: Tree | None, doubts: dict[str, str]) -> Tree | None:
    change = step.change
    if change is None or all_hold(step.brings, found, uid=change.target.uid):
        return found
    told = writer.dry_run(change, ObjectVersion.to(found), own=marks("preview", "preview"))
    if told.done:
        # The answer to a deletion is a Status, or the object with a deletion time: neither is what stays.
        return None if change.verb == "delete" else told.object
    if _unsupported(told):
        doubts[step.id] = f"not provable: {told.message}"
        return None
    if told.conflicts:
        raise InvalidInput(f"{step.title}: fields are kept by {', '.join(told.conflicts)}", code="field_conflict")
    raise InvalidInput(f"{step.title}: {told.message or told.reason} (HTTP {told.status})", code="refused")


def _unsupported(told: WriteResult) -> bool:
    """The server refuses dry runs that would call a webhook with side effects."""
    return told.status == 400 and "dry run" in told.message.lower().replace("dryrun", "dry run").replace("-", " ")


def prepare(rollout_id: uuid.UUID) -> None:
    """Plans a draft. If that fails, the draft expires with the reason as its cause. Safe to call twice.

    1. Read the cluster and plan the steps from what was read.
    2. Check the RBAC rights and dry-run each step.
    3. Store backups and diffs, encrypted.
    4. Move the rollout to `previewed` with the plan and its digest.
    """
    row = rollout_for_update(rollout_id)
    if row.state != "draft":
        return
    try:
        plan, proven = _worked_out(row)
        _export(row, proven)
        keep_diffs(row, proven.diffs)
    except (ReadError, InvalidInput, InvalidSetting) as reason:
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
    transition(row, "expired", by=WORKER, cause=TransitionCause(code=code, words=words), finished_at=timezone.now())


def _worked_out(row: Rollout) -> tuple[Plan, ProofResult]:
    action = registry.find(row.action)
    if action is None:
        raise Unavailable(f"there is no action {row.action!r} any more")
    inventory = _look(row)
    policy = policy_of(row.cluster_id)
    limits = RolloutLimits(batch=policy.batch, per_hour=policy.per_hour, pool_percent=policy.pool_percent)
    with connect_writer(row.cluster, user=row.author_name) as writer:
        _keep_identity(row, writer)
        scene = _scene(action, row, inventory=inventory, writer=writer, limits=limits)
        steps = numbered(action.steps(scene, row.parameters))
        draft = _plan(row, writer, scene=scene, action=action, policy=policy.version)
        planned = msgspec.structs.replace(draft, steps=steps)
        refuse_missing_rights(writer, to_carry_out(planned))
        proven = prove_steps(writer, steps)
    return msgspec.structs.replace(planned, steps=proven.steps), proven


def _keep_identity(row: Rollout, writer: Writer) -> None:
    """Raises OtherCluster if another cluster answers than the one that was scanned; the first uid is stored (A05)."""
    told = writer.identity()
    found = AnsweringCluster(told.kube_system_uid, told.ca)
    refuse_other(row.cluster, found)
    with transaction.atomic():
        keep(row.cluster_id, found)


def _look(row: Rollout) -> Inventory:
    with connect(row.cluster) as api:
        api.get("/version")
        return collect(api, cluster=row.cluster_name).inventory


def _scene(
    action: Action, row: Rollout, *, inventory: Inventory, writer: Writer, limits: RolloutLimits
) -> PlanningContext:
    back = _taken_back(row)
    touched = (bare(step.change.target) for step in back.get("applied", ()) if step.change)
    wanted = dict.fromkeys((*action.wanted(inventory, row.parameters), *touched))
    refuse_missing_rights(writer, to_read(wanted))
    objects = {target: read for target in wanted if (read := writer.read(target)) is not None}
    return PlanningContext(
        inventory=inventory,
        running=stage.detect_running_release(inventory),
        objects=objects,
        now=inventory.taken_at,
        limits=limits,
        files=chart_files(inventory, row.parameters) if action.needs_chart else {},
        **back,
    )


def _taken_back(row: Rollout) -> dict[str, Any]:
    """The applied steps of the rollout that this one rolls back, and the uids that they created."""
    original = row.rolls_back
    if original is None:
        return {}
    lines = journal.lines(original.pk)
    plan = msgspec.json.decode(bytes(original.plan), type=Plan)
    made = {line.step: line.new_uid for line in lines if line.outcome == "applied" and line.new_uid}
    return {"applied": states.applied(plan, lines), "made": made}


def _plan(row: Rollout, writer: Writer, *, scene: PlanningContext, action: Action, policy: int) -> Plan:
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


def _export(row: Rollout, proven: ProofResult) -> None:
    for target, read in proven.read.items():
        export(row, target, read=read)
