"""Makes progress on campaigns: what their journeys came to, what begins next, and what stops them.

A campaign sends nothing to a cluster and takes no lease: its journeys do. Every move is one transaction that holds only
while the campaign is as it was read, so that two workers at once do nothing twice.
"""

import logging
import uuid
from datetime import timedelta

from django.db import InterfaceError, OperationalError, connection
from django.db.models import Q
from django.utils import timezone

from migrations_app.campaigns.next_moves import (
    next_moves,
)
from migrations_app.errors import Conflict, NotFound
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.use_cases.campaigns.moves import WokenByCampaign, make_campaign_move
from migrations_app.use_cases.campaigns.preview import compose_campaign
from migrations_app.use_cases.campaigns.reading import campaign_seen
from migrations_app.use_cases.campaigns.transitions import (
    load_campaign,
)

log = logging.getLogger(__name__)
MOST_LOOKED_AT = 100
PREVIEWED_AGAIN = timedelta(minutes=1)
"""After this time the messages of a draft are taken for lost, and sent again."""


def advance_campaign(campaign_id: uuid.UUID) -> WokenByCampaign:
    """Makes the moves that are due, and returns which workers have to be woken."""
    woken = WokenByCampaign()
    try:
        here = load_campaign(campaign_id)
        if here.row.state == "draft":
            compose_campaign(campaign_id)
        if here.row.state not in ("running", "paused"):
            return woken
        for move in next_moves(campaign_seen(here), now=timezone.now()):
            make_campaign_move(here, move, woken=woken)
    except NotFound:
        log.info("the campaign is gone", extra={"campaign": str(campaign_id)})
    except Conflict as moved:
        log.info("the campaign moved meanwhile", extra={"campaign": str(campaign_id), "code": moved.code})
        woken.again = moved.code == "moved"
    except (OperationalError, InterfaceError):
        log.exception("database failed", extra={"campaign": str(campaign_id)})
        connection.close_if_unusable_or_obsolete()
    return woken


def campaigns_to_look_at() -> list[uuid.UUID]:
    """Drafts and campaigns under way, at most MOST_LOOKED_AT, at random: old ones take no turn of others."""
    waited = timezone.now() - PREVIEWED_AGAIN
    rows = Campaign.objects.filter(Q(state__in=("running", "paused")) | Q(state="draft", made_at__lte=waited))
    return list(rows.order_by("?").values_list("pk", flat=True)[:MOST_LOOKED_AT])


def campaign_of(journey_id: uuid.UUID) -> uuid.UUID | None:
    """The campaign under way that the journey is part of; None if there is none."""
    parts = CampaignMember.objects.filter(journey_id=journey_id, campaign__state__in=("running", "paused"))
    return parts.values_list("campaign_id", flat=True).first()
