"""Leaving out single nodes of a rollout that was started: who decided it, and why, stands in the audit log."""

import uuid

import msgspec
from django.utils import timezone

from migrations_app.access import Person, may_start
from migrations_app.actions.plan import Plan
from migrations_app.actions.states import about_one_node
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.models.rollout import Attempt, NodeSkip, Rollout
from migrations_app.use_cases.accounts.rights import over, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts.lifecycle import changing
from migrations_app.use_cases.rollouts.start_checks import refuse_moved

SENT = (Attempt.Outcome.OPEN, Attempt.Outcome.UNKNOWN, Attempt.Outcome.APPLIED, Attempt.Outcome.NOOP)
"""Outcomes after which the node goes, or may go: leaving it out would tell something that is not so."""


def skip_node(
    rollout_id: uuid.UUID, person: Person, *, step: str, reason: str, by: Actor, version: int | None = None
) -> None:
    """Leaves out the node of a step that was not sent yet; it stays, and is counted and named as skipped.

    Raises PermissionDenied, InvalidInput without a reason or for a step that is not about one node, and Conflict:
    `node_sent` once its deletion was sent, `moved` if the rollout is not under way or the node is skipped already.
    """
    if not reason.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
    with changing(rollout_id) as row:
        refuse_person(may_start(over(person, row.cluster_id)))
        refuse_moved(row, version)
        if row.state not in ("running", "paused"):
            words = f"nodes of a rollout that is {row.state.replace('_', ' ')} are not skipped"
            raise Conflict(words, code="moved")
        node = _node_of(row, step)
        if NodeSkip.objects.filter(rollout=row, step=step).exists():
            raise Conflict(f"{node} is skipped already", code="moved")
        # The row is locked, and so it is where a worker records that it is about to send: one of the two comes first.
        if Attempt.objects.filter(rollout=row, step=step, outcome__in=SENT).exists():
            raise Conflict(f"the deletion of {node} was sent already", code="node_sent")
        told = {"by_id": person.id, "by_name": person.name, "reason": reason.strip()[:2000], "at": timezone.now()}
        NodeSkip.objects.create(rollout=row, step=step, node=node, **told)
        record(
            Event(
                verb="rollout.node_skipped",
                actor=by,
                object=f"Node {node}",
                outcome="skipped",
                cluster_id=str(row.cluster_id),
                plan_digest=row.digest,
                step=step,
                correlation=str(row.pk),
                detail={"why": reason.strip()[:2000]},
            )
        )


def _node_of(row: Rollout, step_id: str) -> str:
    plan = msgspec.json.decode(bytes(row.plan), type=Plan)
    found = next((one for one in plan.steps if one.id == step_id), None)
    if found is None or found.change is None or not about_one_node(found):
        raise InvalidInput("this step is not about one node", where="step", code="unknown_step")
    return found.change.target.name
