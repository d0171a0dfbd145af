"""Groups of clusters; roles, scan intervals and waivers can be given to a group.

Membership affects rights, so pages and API require the right to administer everything.
"""

import uuid
from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from migrations_app.access import SAMPLE_PEOPLE
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.policy import Waiver
from migrations_app.queries.fleet.scan_interval import interval_of, next_slot, with_intervals
from migrations_app.queries.fleet.waivers import active_waivers
from migrations_app.use_cases.audit.log import actor, record_audit_event
from migrations_app.use_cases.clusters.registration import LONGEST_INTERVAL, SHORTEST_INTERVAL

LONGEST_NAME = 80
MAX_NAMES_PER_EVENT = 50
"""Maximum number of clusters that one audit event names, beside their total number."""


def create_group(name: str, *, interval: int | None = None) -> uuid.UUID:
    """Creates an empty group and returns its id. Raises InvalidInput, Conflict `name_taken`."""
    clean_name = _checked(name, interval)
    try:
        with transaction.atomic():
            row = ClusterGroup.objects.create(name=clean_name, interval_seconds=interval, created_by=actor().name)
            record_audit_event("group.made", clean_name, group=str(row.pk), interval_seconds=interval)
    except IntegrityError:
        raise _taken(clean_name) from None
    return row.pk


def change_group(group_id: uuid.UUID, *, name: str, interval: int | None, version: int) -> None:
    """Changes name and interval, and the next scans of the group's clusters. Raises NotFound, InvalidInput,
    Conflict.
    """
    clean_name = _checked(name, interval)
    try:
        with transaction.atomic():
            row = _locked_group(group_id, version=version)
            before = {"name": row.name, "interval_seconds": row.interval_seconds}
            interval_changed = row.interval_seconds != interval
            row.name, row.interval_seconds, row.version = clean_name, interval, row.version + 1
            row.save(update_fields=["name", "interval_seconds", "version"])
            after = {"name": clean_name, "interval_seconds": interval}
            moved = {key: [before[key], after[key]] for key in after if before[key] != after[key]}
            record_audit_event("group.changed", clean_name, group=str(group_id), changes=moved)
            if interval_changed:
                _reschedule(row.clusters.all())
    except IntegrityError:
        raise _taken(clean_name) from None


def add_to_group(group_id: uuid.UUID, cluster_ids: Collection[uuid.UUID]) -> int:
    """Adds clusters and returns how many are new in the group. Raises NotFound for a missing group or cluster."""
    return _change_members(group_id, cluster_ids, into=True)


def remove_from_group(group_id: uuid.UUID, cluster_ids: Collection[uuid.UUID]) -> int:
    """Removes clusters and returns how many were in the group. Raises NotFound as `add_to_group`."""
    return _change_members(group_id, cluster_ids, into=False)


def remove_group(group_id: uuid.UUID, *, version: int | None = None) -> None:
    """Deletes the group and the roles over it, and revokes its waivers; its clusters stay.

    Raises NotFound, Conflict.
    """
    with transaction.atomic():
        row = _locked_group(group_id, version=version)
        if row.repositories.exists():
            raise Conflict(
                "a Git repository is for the clusters of this group alone: change or remove it first",
                code="repository_of_group",
            )
        cluster_ids = list(row.clusters.values_list("pk", flat=True))
        waivers = Waiver.objects.filter(active_waivers(timezone.now()), scope__group=row)
        for waiver in list(waivers):
            Waiver.objects.filter(pk=waiver.pk).update(revoked_at=timezone.now(), revoked_by_name=actor().name)
            record_audit_event(
                "waiver.revoked", f"check {waiver.check_id}", waiver=str(waiver.pk), why="the group is removed"
            )
        detail: dict[str, Any] = {"clusters": len(cluster_ids), "roles": row.grants.count()}
        detail |= {"interval_seconds": row.interval_seconds}
        record_audit_event("group.removed", row.name, group=str(group_id), **detail)
        row.delete()
        _reschedule(Cluster.objects.filter(pk__in=cluster_ids))


def _change_members(group_id: uuid.UUID, cluster_ids: Collection[uuid.UUID], *, into: bool) -> int:
    ids = set(cluster_ids)
    with transaction.atomic():
        row = _locked_group(group_id)
        member_ids = set(row.clusters.values_list("pk", flat=True))
        name_of = dict(Cluster.objects.filter(pk__in=ids).values_list("pk", "name"))
        if ids - set(name_of):
            raise NotFound("no such cluster")
        moved = ids - member_ids if into else ids & member_ids
        if into:
            _refuse_real(row, moved)
        if not moved:
            return 0
        change = row.clusters.add if into else row.clusters.remove
        change(*Cluster.objects.filter(pk__in=moved).only("pk"))
        ClusterGroup.objects.filter(pk=row.pk).update(version=row.version + 1)
        names = sorted(name_of[pk] for pk in moved)
        verb = "group.joined" if into else "group.left"
        record_audit_event(verb, row.name, group=str(group_id), number=len(names), clusters=names[:MAX_NAMES_PER_EVENT])
        _reschedule(Cluster.objects.filter(pk__in=moved))
    return len(moved)


def _refuse_real(row: ClusterGroup, cluster_ids: Collection[uuid.UUID]) -> None:
    """Raises Conflict `sample_group` for a real cluster if sample people have a role over the group."""
    if not row.grants.filter(person__username__in=SAMPLE_PEOPLE).exists():
        return
    if Cluster.objects.filter(pk__in=cluster_ids).exclude(source=Cluster.Source.TWIN).exists():
        raise Conflict(
            "sample people have roles over this group: only sample clusters can be added", code="sample_group"
        )


def _reschedule(clusters: QuerySet[Cluster]) -> None:
    """Sets the next scan by the current interval; not for clusters with their own interval, failing or never scanned
    ones.
    """
    now = timezone.now()
    rows = list(
        with_intervals(clusters.filter(interval_seconds=None, failures=0).exclude(next_due_at=None)).defer("sealed")
    )
    for row in rows:
        seconds = interval_of(row)
        row.next_due_at = next_slot(row.pk, seconds, now=now) if seconds else None
    Cluster.objects.bulk_update(rows, ["next_due_at"], batch_size=200)


def _locked_group(group_id: uuid.UUID, *, version: int | None = None) -> ClusterGroup:
    row = ClusterGroup.objects.select_for_update().filter(pk=group_id).first()
    if row is None:
        raise NotFound("no such group")
    if version is not None and version != row.version:
        raise Conflict("the group was changed meanwhile", code="stale")
    return row


def _checked(name: str, interval: int | None) -> str:
    clean_name = name.strip()
    if not clean_name or len(clean_name) > LONGEST_NAME or not clean_name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_NAME} printable characters is needed", where="name")
    if interval is not None and not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
        raise InvalidInput(f"{SHORTEST_INTERVAL} to {LONGEST_INTERVAL} seconds", where="interval_seconds")
    return clean_name


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a group named {name}", code="name_taken")
