"""Joins two registrations of one cluster: one stays, with the history of both, and the other ends."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Manager
from django.utils import timezone

from migrations_app.campaigns.states import OVER_STATES
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.models.policy import Waiver
from migrations_app.models.pull_request import PullRequest
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import FleetScanPart, LegacyDay, Scan, Snapshot
from migrations_app.models.scan_event import ScanEvent
from migrations_app.queries.joining import JoinPreview, join_preview, new_groups
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.groups import add_to_group
from migrations_app.use_cases.clusters.labels import label_row
from migrations_app.use_cases.journeys.lifecycle import void_journeys
from migrations_app.use_cases.rollouts.lifecycle import void_plans
from migrations_app.use_cases.scans.queue import enqueue
from migrations_app.use_cases.scans.waivers import update_waived_counts

WHOLE: tuple[Manager[Any], ...] = (
    Snapshot.objects,
    Scan.objects,
    ScanEvent.objects,
    Waiver.objects,
    Rollout.objects,
    Journey.objects,
)
"""Tables whose rows all move. Rows of LegacyDay, FleetScanPart, CampaignMember and PullRequest only move if the
remaining registration has no such row.
"""


def join_registrations(stays: uuid.UUID, ends: uuid.UUID, *, seen: str, typed_name: str) -> JoinPreview:
    """Moves the history of the registration `ends` to `stays`, deletes `ends` with its credentials, and enqueues a
    scan. `seen` is the digest of the preview that the person read, `typed_name` the name of the registration that ends.
    Returns what was moved. Raises NotFound; InvalidInput `itself`, or `name_not_typed`; Conflict with the code of the
    first obstacle, and `digest_moved` if the preview has changed.
    """
    with transaction.atomic():
        kept, gone = _locked_rows(stays, ends)
        preview = join_preview(stays, ends)
        if typed_name != gone.name:
            words = "type the name of the registration that ends"
            raise InvalidInput(words, where="typed_name", code="name_not_typed")
        if preview.obstacles:
            first = preview.obstacles[0]
            raise Conflict(first.words, code=first.code)
        if seen != preview.digest:
            raise Conflict(
                "the registrations have changed since the preview; read the preview again", code="digest_moved"
            )
        _record_events(preview, kept, gone=gone)
        void_plans(ends)
        void_journeys(ends)
        _move(kept, gone)
        for group in list(new_groups(kept, gone)):
            add_to_group(group.pk, [stays])
        label_row(kept, {label.key: label.value for label in preview.labels if not label.stays})
        gone.delete()
        update_waived_counts(stays, now=timezone.now())
        enqueue(kept, by="join")
    return preview


def _locked_rows(stays: uuid.UUID, ends: uuid.UUID) -> tuple[Cluster, Cluster]:
    """Both rows, locked together with everything that could begin to hold one of the clusters (A13). Raises
    NotFound.
    """
    ids = [stays, ends]
    rows = {row.pk: row for row in Cluster.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
    if len(rows) < len(set(ids)):
        raise NotFound("no such cluster")
    tables: tuple[Manager[Any], ...] = (Rollout.objects, Journey.objects, CampaignMember.objects)
    for table in tables:
        list(table.select_for_update().filter(cluster_id__in=ids).order_by("pk").values_list("pk"))
    return rows[stays], rows[ends]


def _record_events(preview: JoinPreview, kept: Cluster, *, gone: Cluster) -> None:
    """Records two events, so that the log of each registration names the other one."""
    numbers = ("snapshots", "scans", "rollouts", "journeys", "campaigns", "waivers_over", "roles", "plans_expire")
    detail: dict[str, Any] = {name: getattr(preview, name) for name in numbers}
    detail |= {"waivers": list(preview.waivers), "groups": list(preview.groups), "digest": preview.digest}
    detail |= {
        "labels": {label.key: [label.stays, label.value] for label in preview.labels},
        "uid": kept.kube_system_uid,
    }
    with_: Mapping[str, str] = {"joined": str(gone.pk), "joined_name": gone.name}
    record_audit_event("cluster.joined", kept.name, cluster_id=kept.pk, **with_, **detail)
    into: Mapping[str, str] = {"into": str(kept.pk), "into_name": kept.name, "server": gone.server}
    record_audit_event("cluster.joined_into", gone.name, cluster_id=gone.pk, **into)


def _move(kept: Cluster, gone: Cluster) -> None:
    for table in WHOLE:
        table.filter(cluster=gone).update(cluster=kept)
    days = LegacyDay.objects.filter(cluster=gone)
    if gone.identity_since is not None:
        days = days.filter(day__gte=gone.identity_since.date())
    known = LegacyDay.objects.filter(cluster=kept)
    days.exclude(day__in=list(known.values_list("day", flat=True))).update(cluster=kept)
    parts = FleetScanPart.objects.filter(cluster=kept)
    fleet_scans = list(parts.values_list("fleet_scan_id", flat=True))
    FleetScanPart.objects.filter(cluster=gone).exclude(fleet_scan_id__in=fleet_scans).update(cluster=kept)
    memberships = CampaignMember.objects.filter(cluster=kept)
    gone_memberships = CampaignMember.objects.filter(cluster=gone, campaign__state__in=OVER_STATES)
    gone_memberships.exclude(campaign_id__in=list(memberships.values_list("campaign_id", flat=True))).update(
        cluster=kept
    )
    _move_requests(kept, gone)


def _move_requests(kept: Cluster, gone: Cluster) -> None:
    """Moves pull requests, except previews and those for a fix that has an open pull request of `kept` already."""
    active = (PullRequest.State.OPENING, PullRequest.State.OPEN)
    open_fixes = set(PullRequest.objects.filter(cluster=kept, state__in=active).values_list("check_id", "hop"))
    requests = PullRequest.objects.filter(cluster=gone).exclude(state=PullRequest.State.PREVIEWED)
    moved = [row.pk for row in requests if row.state not in active or (row.check_id, row.hop) not in open_fixes]
    PullRequest.objects.filter(pk__in=moved).update(cluster=kept)
