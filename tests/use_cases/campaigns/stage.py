"""Moves a campaign through its states with rows alone: scans, journeys and their ends are written as workers
would do.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.campaigns.recipe import ALL_REMAINING, Gates, Limits, Selection
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.use_cases.campaigns.approvals import approve_campaign, request_campaign_approval
from migrations_app.use_cases.campaigns.drafts import draft_campaign
from migrations_app.use_cases.campaigns.lifecycle import start_campaign
from migrations_app.use_cases.campaigns.preview import compose_campaign, missing_previews, preview_member
from migrations_app.use_cases.campaigns.requests import CampaignRequest
from migrations_app.use_cases.campaigns.worker import advance_campaign
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from tests.builders.rows import a_cluster
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.people import actor, person

TO_RELEASE = journeys.TO_RELEASE
QUICK = Gates(soak_seconds=0, person="never")


def clusters(*names: str, environment: str = "") -> list[Cluster]:
    """Registers clusters, each with a recent scan."""
    registered = [a_cluster(name, source=Cluster.Source.KUBECONFIG, environment=environment) for name in names]
    for cluster in registered:
        scanned(cluster)
    return registered


def scanned(on: Cluster, *, release: str = journeys.FROM_RELEASE) -> None:
    """Adds a recent scan as the newest one of the cluster."""
    journeys.scanned(on, release=release)
    newest = Scan.objects.filter(cluster=on, state="done").latest("started_at").snapshot_id
    Snapshot.objects.filter(pk=newest).update(scanned_at=timezone.now())
    Cluster.objects.filter(pk=on.pk).update(latest=newest, failures=0)


def drafted(author: User, **changes: Any) -> Campaign:
    values: dict[str, Any] = {"name": "to 0.33", "selection": Selection(), "gates": QUICK, "waves": (1, ALL_REMAINING)}
    values |= {"soak_seconds": 60, "limits": Limits(at_once=5)}
    return Campaign.objects.get(
        pk=draft_campaign(CampaignRequest(**(values | changes)), person=person(author), by=actor(author))
    )


def previewed(author: User, **changes: Any) -> Campaign:
    row = drafted(author, **changes)
    for member in missing_previews(row.pk):
        preview_member(member)
    compose_campaign(row.pk)
    row.refresh_from_db()
    return row


def approved(row: Campaign, author: User, approvers: Iterable[User]) -> Campaign:
    request_campaign_approval(row.pk, person(author), by=actor(author))
    row.refresh_from_db()
    for approver in approvers:
        approve_campaign(row.pk, person(approver), approval_request=approval_for(row), by=actor(approver))
    row.refresh_from_db()
    return row


def started(row: Campaign, author: User) -> Campaign:
    start_campaign(row.pk, person(author), digest=row.digest, by=actor(author))
    row.refresh_from_db()
    return row


def running(author: User, approver: User, **changes: Any) -> Campaign:
    return started(approved(previewed(author, **changes), author, [approver]), author)


def approval_for(row: Campaign, **changes: Any) -> ApprovalRequest:
    values = {"digest": row.digest, "nonce": row.nonce, "typed": row.name}
    return ApprovalRequest(**(values | changes))


def advanced(row: Campaign, times: int = 6) -> Campaign:
    """Returns the campaign after that many turns of a worker."""
    for _ in range(times):
        advance_campaign(row.pk)
    row.refresh_from_db()
    return row


def preview_journeys(row: Campaign) -> None:
    """Previews every draft journey of the campaign, as its worker would, from the recent scan."""
    for member in CampaignMember.objects.filter(campaign=row, journey__state="draft").select_related("cluster"):
        if member.cluster is None or member.journey is None:
            continue
        journeys.advanced(member.journey)
        while Rollout.objects.filter(cluster=member.cluster, state="draft").exists():
            journeys.planned(member.cluster)
        journeys.advanced(member.journey)


def finish_journeys(row: Campaign, *names: str) -> None:
    """Ends the running journeys of these clusters, or of all, with success, and adds scans that show it."""
    for member in _of(row, names).filter(journey__state="running").select_related("cluster"):
        ended(member, "succeeded")
        if member.cluster is not None:
            scanned(member.cluster, release=member.target_release)


def ended(member: CampaignMember, state: str, **columns: Any) -> None:
    """Sets the state of the cluster's journey."""
    values = {"finished_at": timezone.now()} if state in ("succeeded", "aborted") else {}
    Journey.objects.filter(pk=member.journey_id).update(state=state, **(values | columns))


def member(row: Campaign, name: str) -> CampaignMember:
    return CampaignMember.objects.select_related("journey", "cluster").get(campaign=row, cluster_name=name)


def states(row: Campaign) -> dict[str, str]:
    """Returns the state of each cluster, by name."""
    return dict(
        CampaignMember.objects.filter(campaign=row).order_by("cluster_name").values_list("cluster_name", "state")
    )


def verbs(row: Campaign) -> list[str]:
    return list(AuditEvent.objects.filter(correlation=str(row.pk)).order_by("seq").values_list("verb", flat=True))


def notified_topics() -> list[str]:
    return list(Outbox.objects.filter(topic__startswith="campaign.").order_by("pk").values_list("topic", flat=True))


def move_ends_back(row: Campaign, by: timedelta) -> None:
    """Moves every end time into the past by that much."""
    for row_of_member in CampaignMember.objects.filter(campaign=row).exclude(ended_at=None):
        CampaignMember.objects.filter(pk=row_of_member.pk).update(ended_at=row_of_member.ended_at - by)


def _of(row: Campaign, names: Iterable[str]) -> Any:
    rows = CampaignMember.objects.filter(campaign=row)
    return rows.filter(cluster_name__in=names) if names else rows
