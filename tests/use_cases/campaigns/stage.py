"""A campaign on rows alone: scans, journeys and their ends are written as workers would leave them."""

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
from migrations_app.use_cases.campaigns.approvals import approve_campaign, ask_campaign
from migrations_app.use_cases.campaigns.drafts import draft_campaign
from migrations_app.use_cases.campaigns.lifecycle import start_campaign
from migrations_app.use_cases.campaigns.preview import compose_campaign, missing_previews, preview_member
from migrations_app.use_cases.campaigns.requests import CampaignRequest
from migrations_app.use_cases.campaigns.worker import advance_campaign
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from tests.builders_rows import a_cluster
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.people import actor, person

LANDS = journeys.LANDS
QUICK = Gates(soak_seconds=0, person="never")


def clusters(*names: str, environment: str = "") -> list[Cluster]:
    """Registered clusters, each with a scan that just ran."""
    found = [a_cluster(name, source=Cluster.Source.KUBECONFIG, environment=environment) for name in names]
    for one in found:
        scanned(one)
    return found


def scanned(on: Cluster, *, release: str = journeys.STARTS) -> None:
    """A scan that just ran, as the newest one of the cluster."""
    journeys.scanned(on, release=release)
    newest = Scan.objects.filter(cluster=on, state="done").latest("started_at").snapshot_id
    Snapshot.objects.filter(pk=newest).update(scanned_at=timezone.now())
    Cluster.objects.filter(pk=on.pk).update(latest=newest, failures=0)


def drafted(author: User, **wanted: Any) -> Campaign:
    told: dict[str, Any] = {"name": "to 0.33", "selection": Selection(), "gates": QUICK, "waves": (1, ALL_REMAINING)}
    told |= {"soak_seconds": 60, "limits": Limits(at_once=5)}
    return Campaign.objects.get(
        pk=draft_campaign(CampaignRequest(**(told | wanted)), person=person(author), by=actor(author))
    )


def previewed(author: User, **wanted: Any) -> Campaign:
    row = drafted(author, **wanted)
    for member in missing_previews(row.pk):
        preview_member(member)
    compose_campaign(row.pk)
    row.refresh_from_db()
    return row


def approved(row: Campaign, author: User, approvers: Iterable[User]) -> Campaign:
    ask_campaign(row.pk, person(author), by=actor(author))
    row.refresh_from_db()
    for one in approvers:
        approve_campaign(row.pk, person(one), yes=yes_to(row), by=actor(one))
    row.refresh_from_db()
    return row


def started(row: Campaign, author: User) -> Campaign:
    start_campaign(row.pk, person(author), digest=row.digest, by=actor(author))
    row.refresh_from_db()
    return row


def running(author: User, approver: User, **wanted: Any) -> Campaign:
    return started(approved(previewed(author, **wanted), author, [approver]), author)


def yes_to(row: Campaign, **changed: Any) -> ApprovalRequest:
    told = {"digest": row.digest, "nonce": row.nonce, "typed": row.name}
    return ApprovalRequest(**(told | changed))


def advanced(row: Campaign, times: int = 6) -> Campaign:
    """The campaign after so many looks of a worker."""
    for _ in range(times):
        advance_campaign(row.pk)
    row.refresh_from_db()
    return row


def shown(row: Campaign) -> None:
    """Every journey of the campaign that is a draft is previewed by its worker, from the scan that just ran."""
    for member in CampaignMember.objects.filter(campaign=row, journey__state="draft").select_related("cluster"):
        if member.cluster is None or member.journey is None:
            continue
        journeys.advanced(member.journey)
        while Rollout.objects.filter(cluster=member.cluster, state="draft").exists():
            journeys.planned(member.cluster)
        journeys.advanced(member.journey)


def done(row: Campaign, *names: str) -> None:
    """The journeys under way of these clusters, or of all, succeed, and scans show it."""
    for member in _of(row, names).filter(journey__state="running").select_related("cluster"):
        ended(member, "succeeded")
        if member.cluster is not None:
            scanned(member.cluster, release=member.lands)


def ended(member: CampaignMember, state: str, **columns: Any) -> None:
    """The journey of the cluster as it is in that state."""
    told = {"finished_at": timezone.now()} if state in ("succeeded", "aborted") else {}
    Journey.objects.filter(pk=member.journey_id).update(state=state, **(told | columns))


def member(row: Campaign, name: str) -> CampaignMember:
    return CampaignMember.objects.select_related("journey", "cluster").get(campaign=row, cluster_name=name)


def states(row: Campaign) -> dict[str, str]:
    """The state of each cluster, by name."""
    return dict(
        CampaignMember.objects.filter(campaign=row).order_by("cluster_name").values_list("cluster_name", "state")
    )


def verbs(row: Campaign) -> list[str]:
    return list(AuditEvent.objects.filter(correlation=str(row.pk)).order_by("seq").values_list("verb", flat=True))


def told() -> list[str]:
    return list(Outbox.objects.filter(topic__startswith="campaign.").order_by("pk").values_list("topic", flat=True))


def later(row: Campaign, by: timedelta) -> None:
    """Everything that ended, ended so much earlier."""
    for one in CampaignMember.objects.filter(campaign=row).exclude(ended_at=None):
        CampaignMember.objects.filter(pk=one.pk).update(ended_at=one.ended_at - by)


def _of(row: Campaign, names: Iterable[str]) -> Any:
    rows = CampaignMember.objects.filter(campaign=row)
    return rows.filter(cluster_name__in=names) if names else rows
