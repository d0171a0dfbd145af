"""Runs one check again with only the parts that it reads, after a person reports its fix.

If the check is as open as in the snapshot, its answer ends the scan and the snapshot stays: an unfixed problem is
reported within moments. In every other case the whole cluster is read, because a verdict is about one moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from migrations_app.checks.base import Check, Finding
from migrations_app.checks.registry import all_checks
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.collect import ProgressListener
from migrations_app.collect.some_parts import ALWAYS, PartsOnDemand
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES, track_reads
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.readiness.next_step import cause_of
from migrations_app.readiness.report import CollectResult
from migrations_app.readiness.runbook.one_check import judge_one_check, stored_answer
from migrations_app.use_cases.runtime.connections import connect, limits
from migrations_app.use_cases.runtime.counters import calls_by_name
from migrations_app.use_cases.scans.aws_access import with_aws_parts
from migrations_app.use_cases.scans.identity import answering, refuse_other
from migrations_app.use_cases.scans.queue import ScanClaim
from migrations_app.use_cases.scans.scan_events import note_end

AWS: Final = AWS_PREFIX.rstrip(".")
FOR_AWS: Final = frozenset(
    {
        *("nodes", "provisioners", "machines", "nodepools", "nodeclaims", "awsnodetemplates", "ec2nodeclasses"),
        *("controller_accounts", "settings", "aws_auth", "deliveries", "helm_releases"),
    }
)
"""Parts that determine what to request from AWS: they are read first, so that AWS is read only once."""
STILL_OPEN: Final = ("fail", "unknown")
SINGLE_CHECK_TIME_DIVISOR: Final = 4
"""A quarter of the time of a scan is for the single check; the full scan has the rest."""
Calls = Mapping[tuple[str, str], int]


def is_asked(check_id: str) -> bool:
    """Whether this release has a check with that id."""
    return any(check.id == check_id for check in all_checks())


def known_check(check_id: str) -> str:
    """Returns the id if this release has such a check. Raises InvalidInput."""
    if not is_asked(check_id):
        raise InvalidInput("no such check", where="check")
    return check_id


class ScanWatch(NamedTuple):
    """Callbacks of a scan: for each part that was read, and for the number of requests by verb and status."""

    on_part: ProgressListener
    on_calls: Callable[[Calls], None]


def end_if_open(claim: ScanClaim, cluster: Cluster, *, watch: ScanWatch) -> bool:
    """Whether the single check is as open as before, and its answer has ended the scan.

    False if the whole cluster has to be read: no single check was requested, its answer changed, another hop comes
    next, the cluster failed to answer last time or now, or a full scan was requested meanwhile. The scan then stays a
    full scan, also when it is tried again.
    """
    check = next((check for check in all_checks() if check.id == claim.only_check), None)
    ended = check is not None and not cluster.failures and _is_as_open(claim, cluster, check=check, watch=watch)
    if claim.only_check and not ended:
        _claimed_row(claim).update(only_check="")
    return ended


def _is_as_open(claim: ScanClaim, cluster: Cluster, *, check: Check, watch: ScanWatch) -> bool:
    before = _in_snapshot(cluster, check)
    if before is None or before.status not in STILL_OPEN:
        return False
    within = replace(limits(), scan_seconds=limits().scan_seconds / SINGLE_CHECK_TIME_DIVISOR)
    calls: Calls = {}
    try:
        with connect(cluster, within=within) as api:
            try:
                refuse_other(cluster, answering(api))
                answer = fresh_finding(cluster, api, check=check, hop=before.hop, on_part=watch.on_part)
                refuse_other(cluster, answering(api))
            finally:
                calls = api.clock().calls
    except (ReadError, InvalidInput, InvalidSetting):
        return False  # the full scan reports the error
    finally:
        watch.on_calls(calls)
    return answer is not None and _store_answer(claim, answer, before=before, calls=calls)


def _in_snapshot(cluster: Cluster, check: Check) -> Finding | None:
    """The finding of the check in the newest snapshot, for the next hop; None if there is none."""
    if cluster.latest is None:
        return None
    hop = cluster.latest.next_hop
    return next(
        (finding for finding in cluster.latest.report().checks if (finding.id, finding.hop) == (check.id, hop)), None
    )


class SingleFinding(NamedTuple):
    """A finding, and how many parts were read for it."""

    finding: Finding
    parts: int


def fresh_finding(
    cluster: Cluster, api: ClusterApi, *, check: Check, hop: str, on_part: ProgressListener | None
) -> SingleFinding | None:
    """The current finding of the check, with all parts that it reads; None if the hop is not the next one or has no
    such check.
    """
    parts = PartsOnDemand(
        api, cluster=cluster.name, deadline=limits().scan_seconds / SINGLE_CHECK_TIME_DIVISOR, on_part=on_part
    )
    part_names, aws = frozenset(ALWAYS) | {_part(name) for name in check.reads}, None
    while True:
        inventory = parts.inventory(part_names)
        if AWS in part_names:
            aws = (
                aws or with_aws_parts(cluster, api, collected=CollectResult(parts.inventory(FOR_AWS), ())).inventory.aws
            )
            inventory = replace(inventory, aws=aws)
        tracked = track_reads(inventory)
        finding, read_names = tracked.reading(
            partial(judge_one_check, tracked, check=check, hop=hop, target=cluster.target)
        )
        more = read_names & {*PART_NAMES, AWS} - part_names
        if not more:
            return None if finding is None else SingleFinding(finding, parts.seen)
        part_names |= more


def _part(name: str) -> str:
    return AWS if name.startswith(AWS_PREFIX) else name


def _claimed_row(claim: ScanClaim) -> QuerySet[Scan]:
    return Scan.objects.filter(pk=claim.scan_id, state=Scan.State.RUNNING, fence=claim.fence)


def _store_answer(claim: ScanClaim, answer: SingleFinding, *, before: Finding, calls: Calls) -> bool:
    """Stores the answer; returns whether it ended the scan. Stores nothing if another worker has taken the scan
    over.
    """
    plain = msgspec.to_builtins(stored_answer(answer.finding, parts=answer.parts))
    if not _is_same_answer(before, answer.finding):
        _claimed_row(claim).update(check_answer=plain)
        return False
    ended = {"state": Scan.State.DONE, "finished_at": timezone.now(), "lease_until": None}
    with transaction.atomic():
        # A request for the whole cluster has emptied only_check meanwhile, and waits for a snapshot.
        rows = _claimed_row(claim).filter(only_check=claim.only_check)
        if not rows.update(check_answer=plain, calls=calls_by_name(calls), **ended):
            return False
        note_end(claim.scan_id, cluster_id=claim.cluster_id, state=Scan.State.DONE)
    return True


def _is_same_answer(before: Finding, now: Finding) -> bool:
    """Whether the check still fails, or is unknown for the same cause; otherwise the page would show an outdated
    answer.
    """
    return before.status == now.status and (now.status == "fail" or cause_of(before) == cause_of(now))
