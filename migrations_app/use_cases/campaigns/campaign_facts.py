"""Reads the stored state that a campaign's decisions are based on."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from migrations_app.actions import windows
from migrations_app.campaigns.next_moves import (
    CampaignFacts,
    JourneyFacts,
    MemberFacts,
    WaveFacts,
)
from migrations_app.journeys.states import HOLDING, PLANNED
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.queries.campaigns.agreement import campaign_approvals_needed, campaign_approvals_valid
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.use_cases.audit import delivery_lag
from migrations_app.use_cases.campaigns import member_journeys
from migrations_app.use_cases.campaigns.transitions import (
    LoadedCampaign,
    preview_of,
)


def campaign_facts(loaded: LoadedCampaign) -> CampaignFacts:
    """The stored state that the decision is based on."""
    joined = loaded.participants
    clusters = _clusters([member.cluster_id for member in joined if member.cluster_id])
    waiting = [member.cluster_id for member in joined if member.cluster_id and member.state == "waiting"]
    busy_ids = set(
        Journey.objects.filter(cluster_id__in=waiting, state__in=sorted(PLANNED | HOLDING)).values_list(
            "cluster_id", flat=True
        )
    )
    recipe = loaded.recipe
    return CampaignFacts(
        state=loaded.row.state,  # type: ignore[arg-type]  # the column's choices are the states
        recipe=recipe,
        members=tuple(
            _member_state(loaded, member, clusters=clusters, held=member.cluster_id in busy_ids) for member in joined
        ),
        waves=tuple(
            WaveFacts(opened=wave.opened_at is not None, agreed=wave.agreed_at is not None, stops=wave.stops)
            for wave in loaded.waves
        ),
        halts=_pause_code(loaded) if loaded.row.state == "running" else "",
        window=windows.any_open(recipe.windows, timezone.now()),
    )


def _clusters(ids: list[uuid.UUID]) -> Mapping[uuid.UUID, tuple[int, str, datetime | None]]:
    """By cluster: failures in a row, and release and time of its newest scan."""
    rows = Cluster.objects.filter(pk__in=ids)
    columns = ("pk", "failures", "latest__karpenter_version", "latest__scanned_at")
    return {pk: (failures, release or "", at) for pk, failures, release, at in rows.values_list(*columns)}


def _member_state(
    loaded: LoadedCampaign, member: CampaignMember, *, clusters: Mapping[uuid.UUID, tuple[int, str, datetime | None]],
    held: bool,
) -> MemberFacts:  # fmt: skip
    known = clusters.get(member.cluster_id) if member.cluster_id else None
    failures, release, scanned = known or (0, "", None)
    lost = ""
    if member.state in ("preparing", "asking", "running", "stopped") and failures >= UNREACHABLE_AFTER:
        lost = "unreachable"
    reverted = (
        member.ended_at is not None
        and scanned is not None
        and scanned > member.ended_at
        and release != member.target_release
    )
    if reverted and release and member.state in ("done", "stopped"):
        lost = "reverted"
    return MemberFacts(
        id=str(member.pk),
        wave=member.wave,
        state=member.state,  # type: ignore[arg-type]  # the column's choices are the states
        region=member.region,
        environment=member.environment,
        journey=_journey_state(loaded, member),
        left=hops_after(member),
        paused_with=member.paused_with,
        ended_at=member.ended_at,
        lost=lost,
        reached=bool(release) and release == member.target_release,
        gone=known is None,
        held=held,
        cause_code=member.cause_code,
    )


def hops_after(member: CampaignMember) -> int:
    """How many hops are left after the hop of its journey, by the target version of the journey.

    The stored count alone is not enough: after an aborted journey or a reverted release, the next journey is about
    another hop. If the preview does not have the journey's target version, the stored count is returned.
    """
    target_release = member.journey.target_release if member.journey is not None else ""
    ends = [hop.target_release for hop in preview_of(member).hops] if member.shown else []
    return len(ends) - 1 - ends.index(target_release) if target_release in ends else member.hops_left


def _journey_state(loaded: LoadedCampaign, member: CampaignMember) -> JourneyFacts | None:
    journey = member.journey
    if journey is None:
        return None
    compared = member.state == "preparing" and journey.state == "previewed"
    return JourneyFacts(
        state=journey.state,
        cause_code=journey.cause_code,
        wait_code=journey.wait_code,
        differs=member_journeys.differences_of(loaded, member, journey=journey) if compared else (),
    )


def _pause_code(loaded: LoadedCampaign) -> str:
    """The code of the reason that stops the whole campaign now; empty if there is none."""
    if everything_stopped():
        return "kill_switch"
    if delivery_lag.why_blocked():
        return "audit"
    count = len(campaign_approvals_valid(loaded.row, loaded.clusters))
    return "approval_missing" if count < campaign_approvals_needed(loaded.row, loaded.clusters) else ""
