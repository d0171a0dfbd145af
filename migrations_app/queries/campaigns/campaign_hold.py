"""Whether a campaign holds the upgrade of a cluster: it stopped the cluster, or is itself paused with the cluster at
work."""

import uuid
from dataclasses import dataclass

from django.db.models import Q

from migrations_app.campaigns.states import AT_WORK, UNDER_WAY
from migrations_app.models.campaign import CampaignMember
from migrations_app.queries.visibility import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignHold:
    """The campaign. `stopped`: it stopped this cluster; otherwise the campaign is paused."""

    campaign: uuid.UUID
    name: str
    stopped: bool


def campaign_hold(cluster_id: uuid.UUID) -> CampaignHold | None:
    """The campaign under way that holds the upgrade of the cluster; None if none does."""
    members = CampaignMember.objects.filter(visible(), cluster=cluster_id, campaign__state__in=sorted(UNDER_WAY))
    held = members.filter(Q(state="stopped") | Q(state__in=sorted(AT_WORK), campaign__state="paused"))
    row = held.order_by("-campaign__changed_at").values_list("campaign_id", "campaign__name", "state").first()
    return CampaignHold(campaign=row[0], name=row[1], stopped=row[2] == "stopped") if row else None
