"""Asks one check alone, with only what it reads: a person says that its fix is made.

While the check is open, its answer ends the scan, and the snapshot stays as it is: what is still wrong is told within
moments, and nothing is told to be right. Where it no longer is open, the whole cluster is read, since a verdict is
about one moment.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from migrations_app.checks.base import Check
from migrations_app.checks.registry import all_checks
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES, NotingInventory, noting
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.readiness.plan.one_check import OneCheckAnswer, alone, ask_alone
from migrations_app.readiness.report import Collected
from migrations_app.use_cases.collect.collect import Progress
from migrations_app.use_cases.collect.some_parts import ALWAYS, PartsOnDemand
from migrations_app.use_cases.runtime.connections import connect
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
"""Parts that say what to ask AWS for. AWS is asked last, once all else that the check reads is there."""
STILL_OPEN: Final = ("fail", "unknown")


class AloneResult(NamedTuple):
    """Whether the answer of the check has ended the scan, and the requests that it took, by verb and status."""

    ended: bool
    calls: Mapping[tuple[str, str], int]


def known_check(check_id: str) -> str:
    """The id, if a check of it is asked. Raises InvalidInput."""
    if not any(check.id == check_id for check in all_checks()):
        raise InvalidInput("no such check", where="check")
    return check_id


def end_if_open(claim: ScanClaim, cluster: Cluster, *, on_part: Progress) -> AloneResult:
    """Asks the check that is asked alone. While it is open, its answer ends the scan.

    The whole cluster is to be read where nobody asked for one check, it is no longer open, another hop comes next by
    now, or somebody asked for the whole in the meantime. Raises as a scan does: ReadError, OtherCluster, InvalidInput,
    InvalidSetting.
    """
    check = next((check for check in all_checks() if check.id == claim.only_check), None)
    if check is None or cluster.latest is None:
        return AloneResult(False, {})
    with connect(cluster) as api:
        refuse_other(cluster, answering(api))
        found = answer_now(cluster, api, check=check, on_part=on_part)
        refuse_other(cluster, answering(api))
        calls = api.clock().calls
    return AloneResult(found is not None and _stored(claim, found, calls=calls), calls)


def answer_now(cluster: Cluster, api: ClusterApi, *, check: Check, on_part: Progress | None) -> OneCheckAnswer | None:
    """What the check says now, with all that it reads; None where it is not asked at the next hop any more."""
    deadline = float(settings.ENV.scan_deadline)
    parts = PartsOnDemand(api, cluster=cluster.name, deadline=deadline, on_part=on_part)
    hop = cluster.latest.next_hop if cluster.latest else ""
    wanted = frozenset(ALWAYS) | {_part(name) for name in check.reads}
    while True:
        inventory = _read(cluster, api, parts=parts, wanted=wanted)
        ask = partial(ask_alone, inventory, check=check, hop=hop, target=cluster.target)
        finding, asked = inventory.reading(ask)
        more = asked & {*PART_NAMES, AWS} - wanted
        if not more:
            return None if finding is None else alone(finding, parts=len(parts.read))
        wanted |= more


def _part(name: str) -> str:
    return AWS if name.startswith(AWS_PREFIX) else name


def _read(cluster: Cluster, api: ClusterApi, *, parts: PartsOnDemand, wanted: frozenset[str]) -> NotingInventory:
    if AWS not in wanted:
        return noting(parts.inventory(wanted))
    seen = Collected(parts.inventory(wanted | FOR_AWS), ())
    return noting(look_into_aws(cluster, api, collected=seen).inventory)


def _stored(claim: ScanClaim, found: OneCheckAnswer, *, calls: Mapping[tuple[str, str], int]) -> bool:
    """Stores the answer; whether it has ended the scan. Nothing is stored where another worker has taken it over."""
    mine = Scan.objects.filter(pk=claim.scan_id, state=Scan.State.RUNNING, fence=claim.fence)
    told = msgspec.to_builtins(found)
    if found.status not in STILL_OPEN:
        mine.update(check_answer=told, only_check="")
        return False
    ended = {"state": Scan.State.DONE, "finished_at": timezone.now(), "lease_until": None}
    with transaction.atomic():
        # Who asked for the whole cluster meanwhile has taken the check away, and waits for a snapshot.
        if not mine.filter(only_check=claim.only_check).update(check_answer=told, calls=calls_by_name(calls), **ended):
            return False
        note_end(claim.scan_id, cluster_id=claim.cluster_id, state=Scan.State.DONE)
    return True
