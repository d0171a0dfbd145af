"""Proves planned steps before approval: RBAC permissions, current objects, dry runs (A26, A27).

Rehearsals use it, too: no Django here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.conditions import FieldEquals, all_hold, fields_digest, holds, value_at
from migrations_app.actions.plan import ListLimit, Plan, Step
from migrations_app.actions.request import ObjectVersion, marks
from migrations_app.clients.kubernetes.api import Writer, WriteResult
from migrations_app.errors import InvalidInput
from migrations_app.execution.controller_status import leader_target
from migrations_app.manifests import JsonMap

MAX_NAMED = 5
LATER = "rests on what an earlier step brings, so no dry run can prove it now"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """The result of the dry runs.

    `read` holds the objects by target, `doubts` the reasons for steps without a successful dry run, `diffs` the current
    object and the object as the server would store it.
    """

    steps: tuple[Step, ...]
    read: dict[ObjectTarget, JsonMap]
    doubts: dict[str, str]
    diffs: dict[str, tuple[JsonMap | None, JsonMap | None]]


def refuse_missing_rights(writer: Writer, needs: Iterable[tuple[RbacNeed, ObjectTarget]]) -> None:
    """Raises InvalidInput `missing_rights` with the RBAC rules to add if the server denies any of them.

    `needs` are the permissions with their objects, since a rule may be limited to a namespace or to named objects.
    """
    objects: dict[RbacNeed, list[ObjectTarget]] = {}
    for need, target in needs:
        objects.setdefault(need, []).append(target)
    missing = [need.rule for need in sorted(objects) if not _allowed(writer, need, objects=objects[need])]
    if missing:
        raise InvalidInput("missing rules: " + " ".join(f"- {rule}" for rule in missing), code="missing_rights")


def _allowed(writer: Writer, need: RbacNeed, *, objects: list[ObjectTarget]) -> bool:
    """Whether the permission is granted for the whole cluster, for each namespace, or for each object."""
    if writer.may(need):
        return True
    homes = {target.namespace for target in objects}
    if all(homes) and all(writer.may(need, namespace=home) for home in sorted(homes)):
        return True
    return need.verb not in ("create", "list") and all(
        writer.may(need, namespace=target.namespace, name=target.name) for target in objects
    )


def permissions_to_read(targets: Iterable[ObjectTarget]) -> Iterator[tuple[RbacNeed, ObjectTarget]]:
    """The permissions to read those objects."""
    return ((RbacNeed(verb="get", group=target.group, plural=target.plural), target) for target in targets)


def permissions_to_count(limits: Iterable[ListLimit]) -> Iterator[tuple[RbacNeed, ObjectTarget]]:
    """The permissions to list what is counted, each for the whole cluster: its target has no name."""
    for limit in limits:
        every = ObjectTarget(limit.group, limit.version, limit.plural, "", "")
        yield RbacNeed(verb="list", group=limit.group, plural=limit.plural), every


def permissions_to_execute(plan: Plan) -> Iterator[tuple[RbacNeed, ObjectTarget]]:
    """The permissions for the plan's requests and undo requests, and for the reads and counts before them.

    Those of helm are proven by the dry run of helm. The Leases that gates look at are included: a gate that may not
    read its Lease never holds, and that would show only after the controller was changed.
    """
    own = [step for step in plan.steps if step.change is None or step.change.verb != "helm"]
    changes = [change for step in own for change in (step.change, step.undo) if change]
    yield from permissions_to_read(change.target for change in changes)
    yield from permissions_to_read({source.target: None for step in own for source in step.computed_from})
    yield from permissions_to_count(limit for step in own for limit in step.at_most)
    yield from permissions_to_read(controller.deployment for controller in plan.controllers or ())
    yield from permissions_to_read(dict.fromkeys(_leases(plan)))
    yield from ((change.need, change.target) for change in changes)


def _leases(plan: Plan) -> Iterator[ObjectTarget]:
    for step in plan.steps:
        for gate in (step.after, step.undo_after):
            if gate is not None and gate.controller is not None and gate.controller.leader:
                yield leader_target(gate.controller)


def prove_steps(writer: Writer, steps: tuple[Step, ...]) -> ProofResult:
    """Reads every target, ties each step to it, and sends each request as a dry run.

    1. Read the target.
    2. Tie the step to it: store the digest of the fields that the step depends on.
    3. Dry-run the request, unless it depends on an earlier step; then its doubt is recorded.

    Raises InvalidInput for a step that does not depend on an earlier one: `refused` if the server would refuse it,
    `stored_otherwise` if it would store other values.
    """
    read: dict[ObjectTarget, JsonMap] = {}
    tied, doubts, diffs = [], {}, {}
    touched: set[str] = set()
    refuse_changed_sources(writer, steps)
    for step in steps:
        change = step.change
        if change is None:
            tied.append(step)
            continue
        document = writer.read(change.target)
        if document is not None:
            read[change.target] = document
        again = change.target.path in touched
        tied.append(_object_version(step, document, again=again))
        if change.verb == "helm":
            continue  # its preview is the proof and the diff
        if again or _waits_for_crd(change, touched):
            doubts[step.id] = LATER
        else:
            diffs[step.id] = (document, _dry_run(writer, step, document=document, doubts=doubts))
        touched.add(change.target.path)
    return ProofResult(steps=tuple(tied), read=read, doubts=doubts, diffs=diffs)


def refuse_changed_sources(writer: Writer, steps: Iterable[Step]) -> None:
    """Raises InvalidInput `changed` if an object from which a request is computed changed since it was read."""
    for source in dict.fromkeys(source for step in steps for source in step.computed_from):
        if why := source.difference(writer.read(source.target)):
            raise InvalidInput(f"{why} while the plan was made; try again", code="changed")


def _object_version(step: Step, document: JsonMap | None, *, again: bool) -> Step:
    """The step with the digest of the fields that it depends on.

    A step planned from an older read is refused, since it would overwrite a change made in between. A later step on the
    same object keeps the digest that it was planned with. Raises InvalidInput `changed`.
    """
    change = step.change
    if change is None:
        return step
    uid = str(value_at(document, ("metadata", "uid")) or "")
    if change.target.uid and change.target.uid != uid:
        raise InvalidInput(f"{change.target.display_name} was deleted and created again meanwhile", code="changed")
    now = fields_digest(document, step.preconditions)
    if not step.digest:
        return msgspec.structs.replace(step, digest=now)
    if step.digest != now and not again:
        raise InvalidInput(
            f"{change.target.display_name} was changed while the plan was made; try again", code="changed"
        )
    return step


def _waits_for_crd(change: PlannedRequest, touched: set[str]) -> bool:
    """Whether an earlier step creates the CRD of this object's kind."""
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{change.target.plural}.{change.target.group}"
    return crd in touched


def _dry_run(writer: Writer, step: Step, *, document: JsonMap | None, doubts: dict[str, str]) -> JsonMap | None:
    change = step.change
    if change is None or all_hold(step.postconditions, document, uid=change.target.uid):
        return document
    result = writer.dry_run(change, ObjectVersion.of(document), own=marks("preview", "preview"))
    if result.done:
        # The answer to a deletion is a Status, or the object with a deletion time: no object will be stored.
        if change.verb != "delete":
            _refuse_other_result(step, result.object)
        return None if change.verb == "delete" else result.object
    if _unsupported(result):
        doubts[step.id] = f"not provable: {result.message}"
        return None
    if result.conflicts:
        raise InvalidInput(f"{step.title}: fields are owned by {', '.join(result.conflicts)}", code="field_conflict")
    raise InvalidInput(f"{step.title}: {result.message or result.reason} (HTTP {result.status})", code="refused")


def _refuse_other_result(step: Step, stored: JsonMap | None) -> None:
    """Raises InvalidInput `stored_otherwise` if the server would not store what the step is to bring: the request would
    be sent, and the rollout would halt behind it. The status, which controllers write, is not compared, nor is what is
    taken out: the server may have a default for it.
    """
    sets = (one for one in step.postconditions if isinstance(one, FieldEquals) and one.value is not None)
    unmet = [one.field for one in sets if one.field[0] != "status" and not holds(one, stored)]
    if stored is not None and unmet:
        fields = ", ".join(".".join(field) for field in unmet[:MAX_NAMED])
        more = f" and {len(unmet) - MAX_NAMED} more fields" if len(unmet) > MAX_NAMED else ""
        words = "its CRD lacks the field, or an admission webhook changes it"
        raise InvalidInput(
            f"{step.title}: the API server would store {fields}{more} in another way: {words}", code="stored_otherwise"
        )


def _unsupported(result: WriteResult) -> bool:
    """The server refuses dry runs that would call a webhook with side effects."""
    return result.status == 400 and "dry run" in result.message.lower().replace("dryrun", "dry run").replace("-", " ")
