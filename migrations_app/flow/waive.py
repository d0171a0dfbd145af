"""A failing check is accepted, the acceptance is taken back, or it ends; what is counted follows at once.

Nothing that was found is rewritten. The numbers of the latest snapshot are counted again; a page or a tool that reads
the snapshot has the waivers put over it. A waiver of all clusters, and one that ends, reach the numbers of the fleet
with the next tick of the timetable.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from migrations_app.access import Person, may_waive
from migrations_app.checks.registry import all_checks
from migrations_app.errors import BadInput, Conflict, NotFound
from migrations_app.flow.acting import tell
from migrations_app.flow.gauges import gauges
from migrations_app.flow.guard_start import refuse_person
from migrations_app.flow.people import over
from migrations_app.models.cluster import Cluster
from migrations_app.models.measure import Gauges
from migrations_app.models.snapshot import Snapshot
from migrations_app.models.waiver import Waiver
from migrations_app.queries.waivers import held_at, held_everywhere, holding
from migrations_app.readiness.columns import judged_columns
from migrations_app.readiness.waiving import apply, as_stored, can_block

LONGEST = timedelta(days=366)
"""A year, and the day that a leap year has more."""
BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A waiver as somebody wants it; without a cluster it is for all of them."""

    check: str
    cluster: uuid.UUID | None
    reason: str
    owner: str
    ends_at: datetime


def waive(wish: Wish, person: Person, *, now: datetime) -> uuid.UUID:
    """Accepts a failing check; the id of the waiver.

    Raises Denied, NotFound, BadInput, and Conflict `already_waived` when one of that kind holds already.
    """
    blocks = _checked(wish, now)
    here = over(person, wish.cluster)
    refuse_person(may_waive(here, blocker=blocks, everywhere=wish.cluster is None))
    with transaction.atomic():
        cluster = _held_cluster(wish.cluster) if wish.cluster else None
        if Waiver.objects.filter(holding(now), check_id=wish.check, cluster=cluster).exists():
            raise Conflict("this check is waived here already; revoke that waiver first", code="already_waived")
        row = Waiver.objects.create(
            check_id=wish.check,
            cluster=cluster,
            reason=wish.reason.strip(),
            owner_name=wish.owner.strip(),
            blockers="administer" in here.rights,
            made_by_name=person.name,
            made_at=now,
            ends_at=wish.ends_at,
        )
        _tell("waiver.made", row, reason=row.reason, owner=row.owner_name, until=row.ends_at.isoformat())
        if cluster:
            recount(cluster.pk, now=now)
    return row.pk


def revoke(waiver_id: uuid.UUID, person: Person, *, now: datetime) -> None:
    """Takes a waiver back at once; one that does not hold any more stays as it is. Raises NotFound, Denied."""
    with transaction.atomic():
        row = Waiver.objects.select_for_update().filter(pk=waiver_id).first()
        if row is None:
            raise NotFound("no such waiver")
        here = over(person, row.cluster_id)
        refuse_person(may_waive(here, blocker=False, everywhere=row.cluster_id is None))
        if row.revoked_at or row.ends_at <= now:
            return
        row.revoked_at, row.revoked_by_name = now, person.name
        row.save(update_fields=["revoked_at", "revoked_by_name"])
        _tell("waiver.revoked", row)
        if row.cluster_id:
            recount(row.cluster_id, now=now)


def keep_up(now: datetime) -> int:
    """Records the waivers that ended, and counts again wherever the numbers do not say what holds; how many did not."""
    with transaction.atomic():
        over = Waiver.objects.select_for_update().filter(revoked_at=None, ended_told_at=None, ends_at__lte=now)
        for row in list(over[:BATCH]):
            Waiver.objects.filter(pk=row.pk).update(ended_told_at=now)
            _tell("waiver.ended", row, owner=row.owner_name)
    behind = list(_behind(now))
    for cluster_id in behind:
        with transaction.atomic():
            recount(cluster_id, now=now)
    return len(behind)


def recount(cluster_id: uuid.UUID, *, now: datetime) -> None:
    """The numbers of the cluster's latest snapshot, and of its metrics, as its waivers leave them."""
    cluster = _held_cluster(cluster_id)
    if cluster.latest_id is None:
        return
    latest = Snapshot.objects.select_related("content").get(pk=cluster.latest_id)
    held = held_at(cluster_id, now)
    report = apply(latest.report(), held, now=now)
    Snapshot.objects.filter(pk=latest.pk).update(waived=as_stored(held), **judged_columns(report))
    measured = Gauges.objects.filter(pk=cluster_id).first()
    if measured is not None:
        body = gauges(report, {}) | {"objects": measured.body.get("objects", [])}
        Gauges.objects.filter(pk=cluster_id).update(body=body)


def _behind(now: datetime) -> list[uuid.UUID]:
    """Clusters whose latest snapshot was counted with other waivers than those that hold."""
    everywhere = held_everywhere(now)
    for_all = everywhere.get(None, ())
    counted = Cluster.objects.exclude(latest=None)
    if not for_all:
        counted = counted.filter(~Q(latest__waived=None) & ~Q(latest__waived=[]) | Q(pk__in=set(everywhere) - {None}))
    rows = counted.values_list("pk", "latest__waived")
    return [key for key, told in rows if (told or []) != as_stored((*for_all, *everywhere.get(key, ())))]


def _checked(wish: Wish, now: datetime) -> bool:
    """Whether the check can block. Raises BadInput."""
    check = next((one for one in all_checks() if one.id == wish.check), None)
    if check is None:
        raise BadInput(f"there is no check {wish.check[:80]!r}", where="check", code="unknown_check")
    for name, text, most in (("reason", wish.reason, 500), ("owner", wish.owner, 150)):
        if not text.strip() or len(text) > most:
            raise BadInput(f"1 to {most} characters are needed", where=name, code="text_needed")
    if wish.ends_at <= now:
        raise BadInput("the end has to lie ahead", where="ends_at", code="in_the_past")
    if wish.ends_at > now + LONGEST:
        raise BadInput("a waiver lasts a year at most", where="ends_at", code="too_long")
    return can_block(check)


def _held_cluster(cluster_id: uuid.UUID) -> Cluster:
    """The cluster, held: whoever publishes or waives at the same time waits. Raises NotFound."""
    row = Cluster.objects.select_for_update().defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    return row


def _tell(verb: str, row: Waiver, **detail: str) -> None:
    tell(verb, f"check {row.check_id}", cluster_id=row.cluster_id or "", waiver=str(row.pk), **detail)
