"""Turns a draft into a preview: each cluster from its stored scan alone, then the waves. Sends no request to a
cluster.
"""

import uuid
import zlib
from collections.abc import Iterable
from datetime import timedelta

import msgspec
from django.db import transaction
from django.utils import timezone

from migrations_app.actions.changes import Risk
from migrations_app.actions.plan import canonical
from migrations_app.campaigns.campaign_preview import CampaignPlan, MemberPreview, Pace, destroyed_by
from migrations_app.campaigns.forecast import campaign_forecast
from migrations_app.campaigns.preview import member_preview
from migrations_app.campaigns.recipe import WaveCandidate, in_waves
from migrations_app.campaigns.states import CLAIMING
from migrations_app.errors import KarpdashError
from migrations_app.journeys.states import HOLDING, PLANNED
from migrations_app.models.campaign import Campaign, CampaignMember, CampaignWave
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.queries.campaigns.agreement import approvals_by_cluster
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER
from migrations_app.queries.fleet.scan_interval import is_stale
from migrations_app.queries.rollouts.policies import campaigns_may_destroy, policy_of
from migrations_app.readiness.action_offers import READ_ONLY
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.campaigns.transitions import (
    CampaignEvent,
    LoadedCampaign,
    load_campaign,
    preview_of,
    recipe_of,
    store_campaign,
)
from migrations_app.use_cases.journeys.preview import permitted_choices

MAX_SCAN_AGE = timedelta(hours=24)
"""A cluster whose newest scan is older cannot join the campaign."""


def preview_member(member_id: int) -> uuid.UUID | None:
    """Previews one cluster of a draft.

    Returns the campaign's id if no cluster is left to preview, else None. A repeated call has no effect: the first
    result counts.
    """
    member = CampaignMember.objects.select_related("campaign", "cluster").filter(pk=member_id).first()
    if member is None or member.campaign.state != "draft":
        return None
    if member.shown is None:
        preview = _preview(member)
        CampaignMember.objects.filter(pk=member_id, shown__isnull=True).update(shown=msgspec.to_builtins(preview))
    left = CampaignMember.objects.filter(campaign_id=member.campaign_id, shown__isnull=True).exists()
    return None if left else member.campaign_id


def compose_campaign(campaign_id: uuid.UUID) -> None:
    """Makes the waves of a draft when every cluster was previewed, and freezes them with their digest.

    Raises Conflict if the campaign was changed meanwhile.
    """
    loaded = load_campaign(campaign_id)
    if loaded.row.state != "draft" or any(member.shown is None for member in loaded.members):
        return
    previews = _without_twins(sorted((preview_of(member) for member in loaded.members), key=lambda member: member.name))
    joined = [member for member in previews if not member.cause]
    recipe = loaded.recipe
    waves = in_waves([_placement(member) for member in joined], recipe)
    plan = CampaignPlan(
        name=loaded.row.name, recipe=recipe, waves=waves, shown=tuple(previews), author=loaded.row.author_name
    )
    with transaction.atomic():
        _store_members(loaded, previews, waves=waves)
        CampaignWave.objects.bulk_create(
            CampaignWave(campaign=loaded.row, number=number) for number in range(len(waves))
        )
        loaded.row.digest = plan.digest
        detail = {
            "clusters": len(joined),
            "left_out": len(previews) - len(joined),
            "waves": [len(wave) for wave in waves],
        }
        forecast = msgspec.to_builtins(campaign_forecast(previews))
        frozen = {"plan": canonical(plan), "digest": plan.digest, "risk": plan.risk or "", "forecast": forecast}
        if not joined:
            event = CampaignEvent(verb="campaign.expired", by=WORKER, code="nothing_joins", detail=detail)
            ended = {"cause_code": "nothing_joins", "finished_at": timezone.now()}
            store_campaign(loaded, "expired", event=event, **frozen, **ended)
            return
        event = CampaignEvent(verb="campaign.previewed", by=WORKER, detail=detail)
        store_campaign(loaded, "previewed", event=event, **frozen)


def missing_previews(campaign_id: uuid.UUID) -> list[int]:
    """The member ids of a draft that were not previewed yet."""
    rows = CampaignMember.objects.filter(campaign_id=campaign_id, shown__isnull=True, campaign__state="draft")
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _preview(member: CampaignMember) -> MemberPreview:
    cluster = member.cluster
    base = MemberPreview(
        cluster=str(member.cluster_id or ""),
        name=member.cluster_name,
        environment=member.environment,
        region=member.region,
        uid=cluster.kube_system_uid if cluster else "",
        ca=cluster.ca_digest if cluster else "",
        snapshot=str(cluster.latest_id or "") if cluster else "",
    )
    cause = _cause(member, cluster)
    if cause or cluster is None or cluster.latest_id is None:
        return msgspec.structs.replace(base, cause=cause or "never_scanned")
    policy, recipe = policy_of(cluster.pk), recipe_of(member.campaign)
    try:
        report = report_of(cluster.latest_id)
        pace = Pace(policy.batch, policy.per_hour)
        choices = permitted_choices(cluster.pk, parameters=recipe.parameters, soak=recipe.soak_seconds)
        preview = member_preview(base, report, recipe=recipe, pace=pace, choices=choices)
    except (KarpdashError, ValueError, zlib.error):
        return msgspec.structs.replace(base, cause="scan_unreadable")
    preview = msgspec.structs.replace(preview, destroys=campaigns_may_destroy(cluster.pk))
    risk: Risk = "destructive" if destroyed_by(preview) else recipe.covers
    needed = approvals_by_cluster((cluster.pk,), risk)[cluster.pk] if preview.risk else 0
    return msgspec.structs.replace(preview, approvals=needed)


def _cause(member: CampaignMember, cluster: Cluster | None) -> str:
    """The code of the reason in the cluster's row why it cannot join; empty if there is none."""
    if cluster is None:
        return "cluster_gone"
    if cluster.source in READ_ONLY:
        return "read_only"
    if cluster.latest is None:
        return "never_scanned"
    if cluster.other_uid:
        return "other_cluster"
    if cluster.failures >= UNREACHABLE_AFTER:
        return "unreachable"
    if is_stale(cluster.latest.scanned_at, limit=MAX_SCAN_AGE, now=timezone.now()):
        return "scan_old"
    every = registrations_of(cluster.pk)
    if _is_claimed(every, campaign=member.campaign):
        return "in_campaign"
    if Journey.objects.filter(cluster_id__in=every, state__in=sorted(PLANNED | HOLDING)).exists():
        return "journey_open"
    return ""


def _is_claimed(clusters: Iterable[uuid.UUID], *, campaign: Campaign) -> bool:
    others = CampaignMember.objects.filter(cluster_id__in=tuple(clusters), claims=True)
    return others.filter(campaign__state__in=sorted(CLAIMING)).exclude(campaign=campaign).exists()


def _without_twins(members: Iterable[MemberPreview]) -> list[MemberPreview]:
    """Lets only the first of two registrations of one cluster join, so that it is not upgraded twice."""
    previews: list[MemberPreview] = []
    seen: set[str] = set()
    for member in members:
        twin = not member.cause and member.uid and member.uid in seen
        previews.append(msgspec.structs.replace(member, cause="registered_twice") if twin else member)
        if not member.cause and member.uid:
            seen.add(member.uid)
    return previews


def _placement(member: MemberPreview) -> WaveCandidate:
    return WaveCandidate(id=member.cluster, name=member.name, environment=member.environment, nodes=member.owned or 0)


def _store_members(
    loaded: LoadedCampaign, previews: Iterable[MemberPreview], *, waves: tuple[tuple[str, ...], ...]
) -> None:
    places = {pk: (wave, place) for wave, ids in enumerate(waves) for place, pk in enumerate(ids)}
    by_cluster = {preview.cluster: preview for preview in previews}
    for member in loaded.members:
        preview = by_cluster.get(str(member.cluster_id or ""))
        wave, place = places.get(str(member.cluster_id or ""), (0, member.place))
        member.wave, member.place = wave, place
        if preview is None or preview.cause:
            member.state, member.cause_code = "out", preview.cause if preview else "cluster_gone"
        else:
            member.hops_left, member.target_release = len(preview.hops), preview.hops[-1].target_release
        if preview is not None:
            member.shown = msgspec.to_builtins(preview)
    columns = ["wave", "place", "state", "cause_code", "hops_left", "target_release", "shown"]
    CampaignMember.objects.bulk_update(loaded.members, columns, batch_size=200)
