"""Asks one check alone, with only what it reads: a person says that its fix is made.

While it says what the snapshot says of it, its answer ends the scan and the snapshot stays as it is: what is still
wrong is told within moments, and nothing is told to be right. In every other case the whole cluster is read, since a
verdict is about one moment.
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
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES, noting
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.readiness.next_step import cause_of
from migrations_app.readiness.plan.one_check import judge_one_check, stored_answer
from migrations_app.readiness.report import Collected
from migrations_app.use_cases.collect.collect import Progress
from migrations_app.use_cases.collect.some_parts import ALWAYS, PartsOnDemand
from migrations_app.use_cases.runtime.connections import connect, limits
from migrations_app.use_cases.runtime.counters import calls_by_name
from migrations_app.use_cases.scans.aws_access import look_into_aws
from migrations_app.use_cases.scans.feed import note_end
from migrations_app.use_cases.scans.identity import answering, refuse_other
from migrations_app.use_cases.scans.queue import ScanClaim

AWS: Final = AWS_PREFIX.rstrip(".")
FOR_AWS: Final = frozenset(
    {
        *("nodes", "provisioners", "machines", "nodepools", "nodeclaims", "awsnodetemplates", "ec2nodeclasses"),
        *("controller_accounts", "settings", "aws_auth", "deliveries", "helm_releases"),
    }
)
"""Parts that say what to ask AWS for: they are read before, and AWS is asked once."""
STILL_OPEN: Final = ("fail", "unknown")
SHARE: Final = 4
"""A quarter of the time of a scan is for the check alone; the whole has what is left."""
Calls = Mapping[tuple[str, str], int]


def is_asked(check_id: str) -> bool:
    """Whether this release asks a check of that id."""
    return any(check.id == check_id for check in all_checks())


def known_check(check_id: str) -> str:
    """The id, if a check of it is asked. Raises InvalidInput."""
    if not is_asked(check_id):
        raise InvalidInput("no such check", where="check")
    return check_id


class ScanWatch(NamedTuple):
    """Who is told which part was read, and how many requests were made, by verb and status."""

    on_part: Progress
    on_calls: Callable[[Calls], None]


def end_if_open(claim: ScanClaim, cluster: Cluster, *, watch: ScanWatch) -> bool:
    """Whether the check that is asked alone is as open as before, and its answer has ended the scan.

    False where the whole cluster is to be read: nobody asked for one check, it says something else by now, another hop
    comes next, the cluster failed to answer the last time or does so here, or somebody asked for the whole meanwhile.
    The scan then reads the whole for good, also when it is tried again.
    """
    check = next((check for check in all_checks() if check.id == claim.only_check), None)
    ended = check is not None and not cluster.failures and _is_as_open(claim, cluster, check=check, watch=watch)
    if claim.only_check and not ended:
        _mine(claim).update(only_check="")
    return ended


def _is_as_open(claim: ScanClaim, cluster: Cluster, *, check: Check, watch: ScanWatch) -> bool:
    before = _in_snapshot(cluster, check)
    if before is None or before.status not in STILL_OPEN:
        return False
    within = replace(limits(), scan_seconds=limits().scan_seconds / SHARE)
    calls: Calls = {}
    try:
        with connect(cluster, within=within) as api:
            try:
                refuse_other(cluster, answering(api))
                answer = answer_now(cluster, api, check=check, hop=before.hop, on_part=watch.on_part)
                refuse_other(cluster, answering(api))
            finally:
                calls = api.clock().calls
    except (ReadError, InvalidInput, InvalidSetting):
        return False  # the scan of the whole tells what is wrong, in its own way
    finally:
        watch.on_calls(calls)
    return answer is not None and _stored(claim, answer, before=before, calls=calls)


def _in_snapshot(cluster: Cluster, check: Check) -> Finding | None:
    """What the newest snapshot says of the check at the hop that comes next; None without one."""
    if cluster.latest is None:
        return None
    hop = cluster.latest.next_hop
    return next(
        (finding for finding in cluster.latest.report().checks if (finding.id, finding.hop) == (check.id, hop)), None
    )


class AloneFinding(NamedTuple):
    """A finding, and how many parts were read for it."""

    finding: Finding
    parts: int


def answer_now(
    cluster: Cluster, api: ClusterApi, *, check: Check, hop: str, on_part: Progress | None
) -> AloneFinding | None:
    """What the check says now, with all that it reads; None where the hop does not come next, or does not ask it."""
    parts = PartsOnDemand(api, cluster=cluster.name, deadline=limits().scan_seconds / SHARE, on_part=on_part)
    part_names, aws = frozenset(ALWAYS) | {_part(name) for name in check.reads}, None
    while True:
        inventory = parts.inventory(part_names)
        if AWS in part_names:
            aws = aws or look_into_aws(cluster, api, collected=Collected(parts.inventory(FOR_AWS), ())).inventory.aws
            inventory = replace(inventory, aws=aws)
        noted = noting(inventory)
        finding, read_names = noted.reading(
            partial(judge_one_check, noted, check=check, hop=hop, target=cluster.target)
        )
        more = read_names & {*PART_NAMES, AWS} - part_names
        if not more:
            return None if finding is None else AloneFinding(finding, parts.seen)
        part_names |= more


def _part(name: str) -> str:
    return AWS if name.startswith(AWS_PREFIX) else name


def _mine(claim: ScanClaim) -> QuerySet[Scan]:
    return Scan.objects.filter(pk=claim.scan_id, state=Scan.State.RUNNING, fence=claim.fence)


def _stored(claim: ScanClaim, answer: AloneFinding, *, before: Finding, calls: Calls) -> bool:
    """Stores the answer; whether it has ended the scan. Nothing is stored where another worker has taken it over."""
    plain = msgspec.to_builtins(stored_answer(answer.finding, parts=answer.parts))
    if not _still(before, answer.finding):
        _mine(claim).update(check_answer=plain)
        return False
    ended = {"state": Scan.State.DONE, "finished_at": timezone.now(), "lease_until": None}
    with transaction.atomic():
        # Who asked for the whole cluster meanwhile has taken the check away, and waits for a snapshot.
        rows = _mine(claim).filter(only_check=claim.only_check)
        if not rows.update(check_answer=plain, calls=calls_by_name(calls), **ended):
            return False
        note_end(claim.scan_id, cluster_id=claim.cluster_id, state=Scan.State.DONE)
    return True


def _still(before: Finding, now: Finding) -> bool:
    """Whether it fails as before, or is open for the same cause: else the page would tell what is no longer so."""
    return before.status == now.status and (now.status == "fail" or cause_of(before) == cause_of(now))
