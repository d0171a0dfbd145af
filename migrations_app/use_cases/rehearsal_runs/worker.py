"""Runs one claimed rehearsal from start to end; a second thread renews the lease meanwhile."""

import logging
import time

import msgspec
from django.conf import settings

from migrations_app.actions.plan import Plan
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, OtherCluster, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.rehearsals.document import RehearsalPlay, stored
from migrations_app.rehearsals.plan_rehearsal import rehearse_plan
from migrations_app.rehearsals.play import Failure
from migrations_app.use_cases.rehearsal_runs import queue
from migrations_app.use_cases.rehearsal_runs.queue import RehearsalClaim
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.runtime.lease_renewal import renewed_lease
from migrations_app.use_cases.scans.identity import answering, refuse_other
from migrations_app.use_cases.twins.ports import behaviour_of

log = logging.getLogger(__name__)
RENEW_SECONDS = 1.0


class RehearsalOverdue(Conflict):
    """The time for a rehearsal is over."""

    code = "time_limit"


class RehearsalTaken(Conflict):
    """Another worker has taken the rehearsal over."""

    code = "lease_lost"


def rehearse_claimed(claim: RehearsalClaim) -> None:
    """Reads the cluster, plays the plan, and stores the result, or the reason why there is none.

    The cluster is not changed. If another worker has taken the rehearsal over, the result is dropped.
    """
    rehearsal = Rehearsal.objects.select_related("rollout__cluster").get(pk=claim.rehearsal_id)
    try:
        _carry_out(rehearsal, claim)
    except Conflict:
        log.warning("rehearsal was taken over", extra={"rehearsal": str(claim.rehearsal_id)})


def _carry_out(rehearsal: Rehearsal, claim: RehearsalClaim) -> None:
    watch = _RehearsalWatch(claim)
    try:
        with renewed_lease(watch.renew, seconds=RENEW_SECONDS):
            raw = stored(_plays(rehearsal, watch))
    except (ReadError, InvalidInput, InvalidSetting, RehearsalOverdue) as reason:
        queue.fail(claim, reason.code, words=reason.message)
    else:
        queue.store(claim, raw)


def _plays(rehearsal: Rehearsal, watch: "_RehearsalWatch") -> tuple[RehearsalPlay, ...]:
    row = rehearsal.rollout
    plan = msgspec.json.decode(bytes(row.plan), type=Plan)
    if rehearsal.digest != row.digest:
        raise InvalidInput("the plan was replaced meanwhile", code="digest_moved")
    with connect(row.cluster) as api:
        behind = answering(api)
        refuse_other(row.cluster, behind)
        # A uid that could not be read equals no other (A05).
        if behind is not None and not (behind.uid and behind.uid == plan.identity.kube_system_uid):
            raise OtherCluster("the plan was made for another cluster than the one that answers now")
        failures = [Failure(scenario, zone) for scenario, zone in rehearsal.failures]
        return rehearse_plan(
            api,
            plan,
            cluster=row.cluster_name,
            failures=failures,
            seed=rehearsal.seed,
            check=watch.refuse_overdue,
            simulated=behaviour_of(row.cluster_id) if row.cluster.source == Cluster.Source.TWIN else None,
        )


class _RehearsalWatch:
    """Ends the work if the lease is lost or the time is over."""

    def __init__(self, claim: RehearsalClaim) -> None:
        self._claim = claim
        self._lost = False
        self._ends = time.monotonic() + settings.ENV.scan_deadline

    def renew(self) -> bool:
        """Renews the lease; False once it is lost."""
        self._lost = not queue.renew(self._claim)
        return not self._lost

    def refuse_overdue(self) -> None:
        """Raises RehearsalOverdue if the time is over, RehearsalTaken if the lease is lost."""
        if self._lost:
            raise RehearsalTaken("another worker has the rehearsal")
        if time.monotonic() > self._ends:
            seconds = settings.ENV.scan_deadline
            raise RehearsalOverdue(f"not over after {seconds} s, the time that a reading of a cluster may take")
