"""Celery tasks: each loads a row by its id and calls a use case. A message only names a row; the row says what
to do.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from celery import Task, shared_task
from django import db
from django.utils import timezone
from kombu.exceptions import OperationalError
from structlog.contextvars import bound_contextvars

from migrations_app.errors import Conflict, TaskFailed
from migrations_app.queries.rollouts.policies import has_no_action_workers
from migrations_app.use_cases.audit import checkpoint_delivery
from migrations_app.use_cases.campaigns import preview as campaign_preview
from migrations_app.use_cases.campaigns import worker as campaign_worker
from migrations_app.use_cases.campaigns.lifecycle import expire_campaigns
from migrations_app.use_cases.journeys import worker as journey_worker
from migrations_app.use_cases.journeys.lifecycle import expire_journeys
from migrations_app.use_cases.notifications import delivery as notify_flow
from migrations_app.use_cases.notifications.routing import route_events
from migrations_app.use_cases.organizations import queue as organization_queue
from migrations_app.use_cases.organizations.account_listing import run_claimed_listing
from migrations_app.use_cases.rehearsal_runs import queue as rehearsals
from migrations_app.use_cases.rehearsal_runs.compare_run import keep_comparison, uncompared
from migrations_app.use_cases.rehearsal_runs.worker import rehearse_claimed
from migrations_app.use_cases.rollouts import preview, worker
from migrations_app.use_cases.rollouts.lifecycle import expire_old_plans
from migrations_app.use_cases.rollouts.transitions import waiting_scan
from migrations_app.use_cases.rollouts.worker import rollouts_to_enqueue
from migrations_app.use_cases.runtime import disk_space, heartbeat
from migrations_app.use_cases.samples.history import make_history
from migrations_app.use_cases.scans import fleet_scan as scan_fleet_flow
from migrations_app.use_cases.scans import queue, waivers
from migrations_app.use_cases.scans.packing import pack_history
from migrations_app.use_cases.scans.probe import probe_claimed
from migrations_app.use_cases.scans.queue import ScanClaim
from migrations_app.use_cases.scans.retention import sweep_old
from migrations_app.use_cases.scans.worker import scan_claimed

log = logging.getLogger(__name__)
T = TypeVar("T")
C = TypeVar("C")
ACTIONS = {"queue": "action"}
"""The route of tasks for workers of the action queue; an installation may have none."""
RETAIN_SECONDS = 30.0
"""Maximum seconds of one sweep of expired rows; the next sweep continues."""


def _logged(work: Callable[[], T], event: str, **fields: str) -> tuple[T | None, Exception | None]:
    """The result of `work`, or its exception, which is logged with that event. The only broad except of the tasks."""
    try:
        return work(), None
    except Exception as crash:
        log.exception(event, extra=fields)
        return None, crash


class LoggedTask(Task):  # type: ignore[type-arg]  # at run time the class takes no parameters
    """A task that logs its failure in its own process; only the exception's name goes to the worker's main process.

    Celery would send the whole traceback through a pipe, which holds 64 KiB. If a process is ended while it sends a
    larger traceback, half a message stays in the pipe, and the worker never stops, because it waits for the other half.
    """

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as celery has it
        """The result of the task. Raises TaskFailed in a worker, and the task's own exception if called directly."""
        run = partial(super().__call__, *args, **kwargs)
        if self.request.called_directly:
            return run()
        result, crash = _logged(run, "task failed", task=self.name)
        if crash is not None:
            raise TaskFailed(type(crash).__name__)
        return result


@shared_task(name="scan_cluster", ignore_result=True)
def scan_cluster(scan_id: str) -> None:
    """Runs one scan unless another worker has it."""
    with bound_contextvars(scan=scan_id):
        claim = _unless_full(queue.claim, scan_id)
        if claim is not None:
            _guarded(claim, scan_claimed, rows=queue)


@shared_task(name="probe_cluster", ignore_result=True)
def probe_cluster(scan_id: str) -> None:
    """Runs the probe; on success the scan is enqueued for the scan workers."""
    with bound_contextvars(scan=scan_id):
        claim = _unless_full(queue.claim_probe, scan_id)
        if claim is not None and _guarded(claim, probe_claimed, rows=queue):
            _send(scan_cluster, scan_id)


def _unless_full(claim: Callable[[uuid.UUID], ScanClaim | None], scan_id: str) -> ScanClaim | None:
    """The claim; None while the disk is full: then the scan stays queued, and the sweep enqueues it again (R25)."""
    if why := disk_space.why_full():
        log.warning("no room for a scan", extra={"reason": why})
        return None
    return claim(uuid.UUID(scan_id))


def _guarded(claim: C, work: Callable[[C], T], *, rows: Any, kind: str = "scan") -> T | None:  # noqa: ANN401 - a queue's module
    """The result of `work`; None if it crashed.

    `rows` is the module of the claim's queue. A lost database connection is no crash: the claim stays until its lease
    ends, and then the work is tried again.
    """
    try:
        result, crash = _logged(partial(work, claim), f"{kind} crashed")
    except SystemExit:
        # The worker was told to stop and its grace period is over: another worker can start again at once (R28).
        rows.requeue(claim)
        raise
    if crash is not None and not isinstance(crash, (db.OperationalError, db.InterfaceError)):
        rows.crashed(claim, type(crash).__name__)
    return result


@shared_task(name="rehearse", ignore_result=True)
def rehearse(rehearsal_id: str) -> None:
    """Runs one rehearsal unless another worker has it."""
    with bound_contextvars(rehearsal=rehearsal_id):
        claim = rehearsals.claim(uuid.UUID(rehearsal_id))
        if claim is not None:
            _guarded(claim, rehearse_claimed, rows=rehearsals, kind="rehearsal")


def enqueue_rehearsal(rehearsal_id: uuid.UUID) -> bool:
    """Enqueues a rehearsal; False if the broker is down: then the sweep tries again (R05)."""
    return _send(rehearse, str(rehearsal_id))


@shared_task(name="prepare_rollout", ignore_result=True)
def prepare_rollout(rollout_id: str) -> None:
    """Turns a draft into a preview, or expires it with the reason."""
    with bound_contextvars(rollout=rollout_id):
        try:
            preview.prepare(uuid.UUID(rollout_id))
        except Conflict:
            log.info("the draft moved meanwhile")
    if journey := journey_worker.journey_of(uuid.UUID(rollout_id)):
        enqueue_journey(journey)


@shared_task(name="advance_journey", ignore_result=True)
def advance_journey(journey_id: str) -> None:
    """Makes the next move of one journey, and enqueues the scans and rollouts that the move requested."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    with bound_contextvars(journey=journey_id):
        to_enqueue = journey_worker.advance_journey(uuid.UUID(journey_id), holder=holder)
    for scan_id in to_enqueue.scans:
        enqueue_scan(scan_id)
    for rollout_id in to_enqueue.drafts:
        enqueue_rollout(rollout_id, prepare_rollout)
    for rollout_id in to_enqueue.rollouts:
        enqueue_rollout(rollout_id, advance_rollout)
    if to_enqueue.again:
        enqueue_journey(uuid.UUID(journey_id))
    elif campaign := campaign_worker.campaign_of(uuid.UUID(journey_id)):
        enqueue_campaign(campaign)


@shared_task(name="preview_campaign_member", ignore_result=True)
def preview_campaign_member(member_id: str) -> None:
    """Previews one cluster of a draft from its stored scan; after the last cluster, makes the waves."""
    if campaign := campaign_preview.preview_member(int(member_id)):
        try:
            campaign_preview.compose_campaign(campaign)
        except Conflict:
            log.info("the campaign was changed meanwhile", extra={"campaign": str(campaign)})


@shared_task(name="advance_campaign", ignore_result=True)
def advance_campaign(campaign_id: str) -> None:
    """Makes the due moves of one campaign, and enqueues its journeys."""
    with bound_contextvars(campaign=campaign_id):
        to_enqueue = campaign_worker.advance_campaign(uuid.UUID(campaign_id))
    for journey_id in to_enqueue.journeys:
        enqueue_journey(journey_id)
    if to_enqueue.again:
        enqueue_campaign(uuid.UUID(campaign_id))


@shared_task(name="sweep_campaigns", ignore_result=True)
def sweep_campaigns() -> None:
    """Expires campaigns that were not started in time, and enqueues drafts and active campaigns, so that they notice
    time.
    """
    expire_campaigns()
    for campaign_id in campaign_worker.campaigns_to_enqueue():
        enqueue_campaign_previews(campaign_id)
        enqueue_campaign(campaign_id)


def enqueue_campaign(campaign_id: uuid.UUID) -> bool:
    """Enqueues a campaign; False if the broker is down: then the sweep tries again (R05)."""
    return _send(advance_campaign, str(campaign_id))


def enqueue_campaign_previews(campaign_id: uuid.UUID) -> None:
    """Enqueues the missing previews of a draft, one message for each cluster."""
    for member_id in campaign_preview.missing_previews(campaign_id):
        if not _send(preview_campaign_member, str(member_id)):
            return


@shared_task(name="sweep_journeys", ignore_result=True)
def sweep_journeys() -> None:
    """Expires journeys that were not started in time, and enqueues drafts and running ones, so that they notice scans
    and time.
    """
    expire_journeys()
    for journey_id in journey_worker.journeys_to_enqueue():
        enqueue_journey(journey_id)


def enqueue_journey(journey_id: uuid.UUID) -> bool:
    """Enqueues a journey; False if the broker is down: then the sweep tries again (R05)."""
    return _send(advance_journey, str(journey_id))


@shared_task(name="advance_rollout", ignore_result=True)
def advance_rollout(rollout_id: str) -> None:
    """Advances one rollout if it gets the cluster's lease; enqueues itself until nothing is left to do (A12)."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    with bound_contextvars(rollout=rollout_id):
        more = worker.advance(uuid.UUID(rollout_id), holder=holder)
    if more:
        enqueue_rollout(uuid.UUID(rollout_id), advance_rollout)
        return
    keep_comparison(uuid.UUID(rollout_id))
    if scan := waiting_scan(uuid.UUID(rollout_id)):
        enqueue_scan(scan)
    if journey := journey_worker.journey_of(uuid.UUID(rollout_id)):
        enqueue_journey(journey)


@shared_task(name="sweep_rollouts", ignore_result=True)
def sweep_rollouts() -> None:
    """Expires old plans, and enqueues drafts and running rollouts that lost their message or worker.

    Compares ended rollouts with their rehearsals, if their own worker did not.
    """
    expire_old_plans()
    for ended in uncompared():
        keep_comparison(ended)
    for rollout_id, state in rollouts_to_enqueue():
        enqueue_rollout(rollout_id, prepare_rollout if state == "draft" else advance_rollout)


def enqueue_rollout(rollout_id: uuid.UUID, task: "Task[[str], None]") -> bool:
    """Enqueues a task of a rollout; False if the broker is down: then the sweep tries again (R05)."""
    return _send(task, str(rollout_id))


@shared_task(name="scan_fleet", ignore_result=True)
def scan_fleet() -> None:
    """Requests the scans that are due and enqueues each."""
    for scan_id in queue.due_scans():
        enqueue_scan(scan_id)


@shared_task(name="checkpoint", ignore_result=True)
def checkpoint() -> None:
    """Signs due checkpoints of the audit log and delivers them to the sinks (A53)."""
    checkpoint_delivery.sign_and_deliver()


@shared_task(name="look_at_organization", ignore_result=True)
def list_organization(organization_id: str) -> None:
    """Lists the accounts and clusters of an AWS organization, unless another worker does."""
    with bound_contextvars(organization=organization_id):
        claim = organization_queue.claim(uuid.UUID(organization_id))
        if claim is not None:
            _guarded(claim, run_claimed_listing, rows=organization_queue, kind="look at an organization")


@shared_task(name="sweep_organizations", ignore_result=True)
def sweep_organizations() -> None:
    """Enqueues the listings that are due, and those that lost their message or worker."""
    for organization_id in organization_queue.listings_to_enqueue():
        enqueue_listing(organization_id)


def enqueue_listing(organization_id: uuid.UUID) -> bool:
    """Enqueues the listing of an organization; False if the broker is down: then the sweep tries again (R05)."""
    return _send(list_organization, str(organization_id))


@shared_task(name="begin_fleet_scan", ignore_result=True)
def begin_fleet_scan(fleet_scan_id: str) -> None:
    """Creates and enqueues the scans of a fleet scan."""
    for scan_id in scan_fleet_flow.begin(uuid.UUID(fleet_scan_id)):
        enqueue_scan(scan_id)


@shared_task(name="sweep", ignore_result=True)
def sweep() -> None:
    """Enqueues scans and rehearsals that lost their message or worker, and closes ended fleet scans.

    Also stores beat's heartbeat.
    """
    heartbeat.write_heartbeat(heartbeat.BEAT, [heartbeat.BEAT])
    for scan_id in queue.scans_to_enqueue():
        enqueue_scan(scan_id)
    for rehearsal_id in rehearsals.rehearsals_to_enqueue():
        enqueue_rehearsal(rehearsal_id)
    for fleet_scan_id in scan_fleet_flow.fleet_scans_to_enqueue():
        enqueue_fleet_scan(fleet_scan_id)
    scan_fleet_flow.close_ended()


@shared_task(name="keep_waivers", ignore_result=True)
def keep_waivers() -> None:
    """Expires waivers and updates counts that changed with a waiver."""
    waivers.expire_waivers(timezone.now())


@shared_task(name="notify", ignore_result=True)
def notify() -> None:
    """Routes events to channels, and enqueues the channels that have something to send."""
    now = timezone.now()
    route_events(now)
    for channel_id in notify_flow.due(now):
        enqueue_channel(channel_id)


@shared_task(name="deliver", ignore_result=True)
def deliver(channel_id: str) -> None:
    """Sends the waiting messages of one channel."""
    with bound_contextvars(channel=channel_id):
        notify_flow.deliver(uuid.UUID(channel_id))


@shared_task(name="retain", ignore_result=True)
def retain() -> None:
    """Deletes expired rows and packs contents of history, in small portions (R26)."""
    done = sweep_old(within=RETAIN_SECONDS)
    if done:
        log.info("old rows taken away", extra={"rows": done})
    if packed := pack_history(within=RETAIN_SECONDS):
        log.info("history packed", extra={"contents": packed})


@shared_task(name="make_sample_history", ignore_result=True)
def make_sample_history() -> None:
    """Generates a history for sample clusters that have none."""
    make_history(now=timezone.now())


def enqueue_sample_history() -> bool:
    """Enqueues `make_sample_history`; False if the broker is down: then the samples have no history until the next
    `karpdash up`.
    """
    try:
        make_sample_history.delay()
    except OperationalError:
        return False
    return True


def enqueue_scan(scan_id: uuid.UUID) -> bool:
    """Enqueues a scan; False if the broker is down: then the row stays queued and the sweep tries again (R05)."""
    return _send(probe_cluster if queue.needs_probe(scan_id) else scan_cluster, str(scan_id))


def enqueue_fleet_scan(fleet_scan_id: uuid.UUID) -> bool:
    """As `enqueue_scan`, for a fleet scan."""
    return _send(begin_fleet_scan, str(fleet_scan_id))


def enqueue_channel(channel_id: uuid.UUID) -> bool:
    """Enqueues the deliveries of a channel; False if the broker is down: then the next `notify` tries again (R05)."""
    return _send(deliver, str(channel_id))


def _send(task: "Task[[str], None]", row_id: str) -> bool:
    if has_no_action_workers() and task.app.conf.task_routes.get(task.name) == ACTIONS:
        return False  # no worker would take it from the queue, and every sweep would make the queue longer
    try:
        task.delay(row_id)
    except OperationalError:
        log.warning("broker unreachable, the row waits", extra={"row": row_id})
        return False
    return True
