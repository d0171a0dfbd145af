"""Creates, revokes and expires waivers, which accept a failing check, and updates the counts.

Stored findings are never rewritten: the counts of the latest snapshot are updated, and readers of a snapshot apply the
waivers to it. The fleet's counts follow a waiver of a group or of all clusters, and an expired one, with the next beat
tick.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from migrations_app.access import Person, may_waive
from migrations_app.checks.base import CONFIRMABLE, Check
from migrations_app.checks.registry import all_checks, ids_of
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.karpenter.hops import every_hop
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.monitoring import Gauges
from migrations_app.models.policy import GroupWaiver, Waiver
from migrations_app.models.scan import Snapshot
from migrations_app.queries.fleet.groups import visible_groups
from migrations_app.queries.fleet.waivers import (
    active_waivers,
    active_waivers_of_cluster,
    visible_waivers,
    waivers_by_cluster,
)
from migrations_app.readiness.verdict import judged_columns
from migrations_app.readiness.waivers import apply, as_stored, can_block
from migrations_app.use_cases.accounts.rights import person_over_cluster, person_over_group, refuse_person
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.notifications.publish import (
    publish_event,
    publish_event_once,
    publish_verdict_change,
    published_events,
)
from migrations_app.use_cases.scans.store import gauges

MAX_DURATION = timedelta(days=366)
"""A year and a leap day."""
BATCH = 200
NOTICE_PERIOD = timedelta(days=7)
"""How long before its end the expiry of a waiver is announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverRequest:
    """The waiver to create: for a cluster, for a group, or for all clusters if neither is set; without a hop, for every
    hop.
    """

    check: str
    cluster: uuid.UUID | None
    reason: str
    owner: str
    ends_at: datetime
    group: uuid.UUID | None = None
    hop: str = ""


def waive(request: WaiverRequest, person: Person, *, now: datetime) -> uuid.UUID:
    """Creates a waiver and returns its id.

    Raises PermissionDenied, NotFound, InvalidInput, and Conflict `already_waived` while a waiver with the same scope is
    active.
    """
    blocks = _checked(request, now)
    scoped_person = (
        person_over_group(person, request.group) if request.group else person_over_cluster(person, request.cluster)
    )
    refuse_person(may_waive(scoped_person, blocker=blocks, everywhere=request.cluster is None))
    with transaction.atomic():
        cluster = _locked_cluster(request.cluster) if request.cluster else None
        group = _locked_group(request.group) if request.group else None
        same = Q(scope__group=group) if group else Q(scope=None, cluster=cluster)
        if Waiver.objects.filter(
            active_waivers(now), same, check_id__in=ids_of(request.check), hop=request.hop
        ).exists():
            raise Conflict("this check is waived here already; revoke that waiver first", code="already_waived")
        row = Waiver.objects.create(
            check_id=request.check,
            hop=request.hop,
            cluster=cluster,
            reason=request.reason.strip(),
            owner_name=request.owner.strip(),
            blockers="administer" in scoped_person.rights,
            made_by_name=person.name,
            made_at=now,
            ends_at=request.ends_at,
        )
        if group:
            GroupWaiver.objects.create(waiver=row, group=group, group_name=group.name)
        _record("waiver.made", row, reason=row.reason, owner=row.owner_name, until=row.ends_at.isoformat())
        if cluster:
            update_waived_counts(cluster.pk, now=now)
    return row.pk


def revoke(waiver_id: uuid.UUID, person: Person, *, now: datetime) -> None:
    """Revokes a waiver at once; an inactive one stays as it is. Raises NotFound, PermissionDenied."""
    with transaction.atomic():
        row = Waiver.objects.select_for_update(of=("self",)).filter(visible_waivers(), pk=waiver_id).first()
        if row is None:
            raise NotFound("no such waiver")
        group_id = _group_of(row)
        scoped_person = person_over_group(person, group_id) if group_id else person_over_cluster(person, row.cluster_id)
        refuse_person(may_waive(scoped_person, blocker=False, everywhere=row.cluster_id is None))
        if row.revoked_at or row.ends_at <= now:
            return
        row.revoked_at, row.revoked_by_name = now, person.name
        row.save(update_fields=["revoked_at", "revoked_by_name"])
        _record("waiver.revoked", row)
        if row.cluster_id:
            update_waived_counts(row.cluster_id, now=now)


def expire_waivers(now: datetime) -> int:
    """Records expired waivers and updates outdated counts. Returns the number of clusters that were updated."""
    with transaction.atomic():
        over = Waiver.objects.select_for_update().filter(revoked_at=None, ended_told_at=None, ends_at__lte=now)
        for row in list(over[:BATCH]):
            Waiver.objects.filter(pk=row.pk).update(ended_told_at=now)
            _record("waiver.ended", row, owner=row.owner_name)
            _announce("waiver.ended", row)
    _announce_expiring(now)
    behind = list(_outdated_clusters(now))
    for cluster_id in behind:
        with transaction.atomic():
            update_waived_counts(cluster_id, now=now)
    return len(behind)


def _announce_expiring(now: datetime) -> None:
    """Announces each waiver once, a week before its end, or halfway through a shorter one."""
    soon = Waiver.objects.filter(active_waivers(now), ends_at__lte=now + NOTICE_PERIOD).select_related("cluster")
    rows = {f"waiver.expiring:{row.pk}": row for row in soon.defer("cluster__sealed")[: BATCH * 10]}
    for mark in sorted(rows.keys() - published_events(rows)):
        row = rows[mark]
        if row.ends_at - now <= min(NOTICE_PERIOD, (row.ends_at - row.made_at) / 2):
            with transaction.atomic():
                if publish_event_once(mark, now=now):
                    _announce("waiver.expiring", row)


def _announce(topic: str, row: Waiver) -> None:
    detail: dict[str, Any] = {"check": row.check_id, "owner": row.owner_name, "waiver": str(row.pk)}
    detail |= {"ends_at": row.ends_at.isoformat()} | ({"hop": row.hop} if row.hop else {})
    scope = GroupWaiver.objects.select_related("group").filter(waiver=row).first()
    if scope is None:
        publish_event(topic, row.cluster.name if row.cluster else "all clusters", cluster=row.cluster_id, **detail)
    elif scope.group is not None:
        publish_event(topic, f"group {scope.group.name}", **detail, group=str(scope.group.pk))


def update_waived_counts(cluster_id: uuid.UUID, *, now: datetime) -> None:
    """Updates the counts of the cluster's latest snapshot and its gauges to its active waivers."""
    cluster = _locked_cluster(cluster_id)
    if cluster.latest_id is None:
        return
    latest = Snapshot.objects.select_related("content").get(pk=cluster.latest_id)
    waivers = active_waivers_of_cluster(cluster_id, now)
    report = apply(latest.report(), waivers, now=now)
    counted = judged_columns(report)
    Snapshot.objects.filter(pk=latest.pk).update(waived=as_stored(waivers), **counted)
    publish_verdict_change(latest, cluster, hop=latest.next_hop, verdict=counted["verdict"])
    measured = Gauges.objects.filter(pk=cluster_id).first()
    if measured is not None:
        body = gauges(report, {}) | {"objects": measured.body.get("objects", [])}
        Gauges.objects.filter(pk=cluster_id).update(body=body)


def _outdated_clusters(now: datetime) -> list[uuid.UUID]:
    """Clusters whose latest snapshot was counted with other waivers than the active ones."""
    everywhere = waivers_by_cluster(now)
    for_all = everywhere.get(None, ())
    counted = Cluster.objects.exclude(latest=None)
    if not for_all:
        counted = counted.filter(~Q(latest__waived=None) & ~Q(latest__waived=[]) | Q(pk__in=set(everywhere) - {None}))
    rows = counted.values_list("pk", "latest__waived")
    return [key for key, waived in rows if (waived or []) != as_stored((*for_all, *everywhere.get(key, ())))]


def _checked(request: WaiverRequest, now: datetime) -> bool:
    """Whether the check can be a blocker. Raises InvalidInput for an unusable request."""
    if request.cluster and request.group:
        raise InvalidInput("a waiver is for a cluster or for a group", where="group")
    check = next((all_check for all_check in all_checks() if all_check.id == request.check), None)
    if check is None:
        raise InvalidInput(f"there is no check {request.check[:80]!r}", where="check", code="unknown_check")
    _check_hop(check, request.hop)
    for name, text, most in (("reason", request.reason, 500), ("owner", request.owner, 150)):
        if not text.strip() or len(text) > most:
            raise InvalidInput(f"1 to {most} characters are needed", where=name, code="text_needed")
    if request.ends_at <= now:
        raise InvalidInput("the end date must be in the future", where="ends_at", code="in_the_past")
    if request.ends_at > now + MAX_DURATION:
        raise InvalidInput("a waiver lasts a year at most", where="ends_at", code="too_long")
    return can_block(check)


def _check_hop(check: Check, hop: str) -> None:
    """Raises InvalidInput for an unknown hop, one at which the check is not asked, and for no hop if the check is one
    that a person answers for each hop."""
    if hop and hop not in every_hop():
        raise InvalidInput(f"there is no hop {hop[:20]!r}", where="hop", code="unknown_hop")
    if hop and not check.applies(hop):
        raise InvalidInput(f"this check is not asked at hop {hop}", where="hop", code="check_not_asked")
    if not hop and check.id in CONFIRMABLE:
        raise InvalidInput("name the hop: this check is confirmed for each hop", where="hop", code="hop_needed")


def _locked_cluster(cluster_id: uuid.UUID) -> Cluster:
    """The cluster row, locked against concurrent publishing and waiving. Raises NotFound."""
    row = Cluster.objects.select_for_update().defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    return row


def _locked_group(group_id: uuid.UUID) -> ClusterGroup:
    """The locked group row, so that it is not deleted meanwhile. Raises NotFound."""
    row = ClusterGroup.objects.select_for_update().filter(visible_groups(), pk=group_id).first()
    if row is None:
        raise NotFound("no such group")
    return row


def _group_of(row: Waiver) -> uuid.UUID | None:
    return GroupWaiver.objects.filter(pk=row.pk).values_list("group_id", flat=True).first()


def _record(verb: str, row: Waiver, **detail: str) -> None:
    scope = GroupWaiver.objects.filter(pk=row.pk).values_list("group_name", flat=True).first()
    more = detail | ({"group": scope} if scope else {}) | ({"hop": row.hop} if row.hop else {})
    record_audit_event(verb, f"check {row.check_id}", cluster_id=row.cluster_id or "", waiver=str(row.pk), **more)
