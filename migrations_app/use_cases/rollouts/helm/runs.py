"""Carries out a run of helm as one request of a rollout: repeats the dry run, runs once, stops if required (A17 to A22,
A36, A37).

While helm runs, this thread checks twice a second whether the rollout may continue: the lease has to outlast every
change, and an abort or the kill switch ends the run. A change is only sent after a recent positive check.
"""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from django.db import DatabaseError, transaction

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.helm.request import HelmRun, run_of
from migrations_app.actions.plan import ClusterIdentity, Plan
from migrations_app.actions.request import ObjectVersion
from migrations_app.clients.helm.engine import AppliedRun, HelmInput, HelmTool, RunGuards, dry_run_helm, run_helm
from migrations_app.clients.kubernetes.api import ListPage, Resource, Writer, WriteResult
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.manifests import JsonMap
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts import journal, lease
from migrations_app.use_cases.rollouts.helm.planning import planned_requests, relay_limits
from migrations_app.use_cases.rollouts.helm.run_input import helm_tool, input_for_run
from migrations_app.use_cases.rollouts.journal import ExecutionContext, StopRequested
from migrations_app.use_cases.runtime.connections import connect_transport

log = logging.getLogger(__name__)
CRASH_POINTS = ("helm_before_record", "helm_after_record", "helm_before_object", "helm_after_object")
"""Points within a run at which tests kill its worker."""
ASK_SECONDS = 0.5
FRESH_SECONDS = 3.0
DEADLINE_SECONDS = 40.0
"""How long the lease has to last for a change: the deadline of its request, plus the age of the last check."""
PATIENCE_SECONDS = 10.0
ENDING = frozenset({Rollout.StopRequest.ABORT.value, "kill_switch", "moved"})
"""Stop codes that end a run at once; a pause takes effect after the run."""


@dataclass(slots=True)
class RunWatch:
    """Decides whether the run may send its next change."""

    work: ExecutionContext
    why: str = ""
    """The reason why the run has to end; empty while it may continue."""
    _asked: float = field(default=0.0)
    _until: float = field(default=0.0)
    _condition: threading.Condition = field(default_factory=threading.Condition)

    def stop(self) -> bool:
        """Whether the run has to end now. Called by the worker's thread while it waits for helm."""
        now = time.monotonic()
        if now - self._asked >= ASK_SECONDS and not self.why:
            self._asked = now
            self._ask(now)
        return bool(self.why)

    def permit(self) -> None:
        """Waits for a recent positive check. Raises Conflict if there is none. Called by the relay's threads, without
        database.
        """
        with self._condition:
            self._condition.wait_for(lambda: self.why or time.monotonic() < self._until, timeout=PATIENCE_SECONDS)
            if self.why or time.monotonic() >= self._until:
                raise Conflict(self.why or "the worker could not confirm its lease", code="lease_lost")

    def _ask(self, now: float) -> None:
        why = self._ends()
        with self._condition:
            self.why = why
            self._until = 0.0 if why else now + FRESH_SECONDS
            self._condition.notify_all()

    def _ends(self) -> str:
        try:
            if not lease.is_valid_for(self.work.lease_token, DEADLINE_SECONDS) and not lease.renew(
                self.work.lease_token
            ):
                return "another worker took over"
            with transaction.atomic():
                journal.refuse_if_stopped(self.work)
        except StopRequested as told:
            return told.message if told.code in ENDING else ""
        except DatabaseError:
            log.exception("database failed while helm runs")
            return "the database does not answer"
        return ""


def runs_helm(plan: Plan) -> bool:
    """Whether a step of the plan runs helm."""
    return any(step.change is not None and step.change.verb == "helm" for step in plan.steps)


@dataclass(slots=True)
class HelmWriter:
    """A Writer that runs helm for changes with that verb; everything else goes to the writer below it."""

    below: Writer
    work: ExecutionContext

    def identity(self) -> ClusterIdentity:
        return self.below.identity()

    def read(self, target: ObjectTarget) -> JsonMap | None:
        return self.below.read(target)

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        return self.below.pages(resource)

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        return self.below.may(need, namespace=namespace, name=name)

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self.below.dry_run(change, object_version, own=own)

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        if change.verb != "helm":
            return self.below.send(change, object_version, own=own, purpose=purpose)
        return self._run(run_of(change.body), own=own, purpose=purpose)

    def close(self) -> None:
        self.below.close()

    def _run(self, run: HelmRun, *, own: dict[str, str], purpose: str) -> WriteResult:
        tool = helm_tool()
        helm_input = input_for_run(run, self.below)
        row = self.work.row
        watch = RunWatch(self.work)
        guards = RunGuards(permit=watch.permit, stop=watch.stop, reached=self.work.reached, marks=own)
        with connect_transport(
            row.cluster, user=row.author_name, within=relay_limits(tool), purpose="action"
        ) as transport:
            _refuse_changed(tool, run, transport=transport, helm_input=helm_input)
            done = run_helm(tool, run, transport=transport, given=helm_input, guards=guards, purpose=f"{purpose} helm")
        return _result(done, why=watch.why)


def _refuse_changed(tool: HelmTool, run: HelmRun, *, transport: Transport, helm_input: HelmInput) -> None:
    """Repeats the dry run. Raises InvalidInput `changed` unless helm would send the same requests as at the preview."""
    end, seen = dry_run_helm(tool, run, transport=transport, given=helm_input)
    if not end.done:
        raise InvalidInput(f"helm would fail: {end.words}", code="helm_refused")
    now = set(planned_requests(seen))
    hooks = {request for request in run.requests if request.again or _is_of_hook(run, request.path)}
    planned = set(run.requests) - hooks
    if different := sorted(helm_request.path for helm_request in now ^ planned):
        raise InvalidInput(f"helm would change {different[0]} differently than at the preview", code="changed")


def _is_of_hook(run: HelmRun, path: str) -> bool:
    """Whether the path is that of a hook's object: only those may be deleted repeatedly."""
    return any(request.path == path and request.again for request in run.requests)


def _result(done: AppliedRun, *, why: str) -> WriteResult:
    """200 if helm succeeded; 422 if nothing was sent; 500 if some requests were sent: then only a read shows the
    outcome.
    """
    records = [change for change in done.sent if change.asked.is_record and change.asked.method == "POST"]
    audit = next((record.answer.audit_id for record in records), "")
    words = why or done.refused or done.end.words or "helm was stopped"
    if done.end.done:
        return WriteResult(status=200, audit_id=audit, uid=_uid(records[0].answer.body) if records else "")
    return WriteResult(status=500 if done.sent else 422, reason="helm", message=words, audit_id=audit)


def _uid(body: object) -> str:
    try:
        tree = msgspec.json.decode(body) if isinstance(body, bytes | bytearray) else body
    except msgspec.DecodeError:
        return ""
    return str(value_at(tree, ("metadata", "uid")) or "")
