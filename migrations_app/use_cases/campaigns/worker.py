"""Advances campaigns: stores the outcome of journeys, begins the next ones, and stops the campaign if required.

A campaign sends nothing to a cluster and takes no lease: its journeys do. Every move is one transaction that fails if
the campaign changed since it was read, so that two workers do nothing twice.
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
from migrations_app.use_cases.campaigns.campaign_facts import campaign_facts
from migrations_app.use_cases.campaigns.moves import CampaignWorkToEnqueue, make_campaign_move
from migrations_app.use_cases.campaigns.preview import compose_campaign
from migrations_app.use_cases.campaigns.transitions import (
    load_campaign,
)

log = logging.getLogger(__name__)
MAX_ENQUEUED = 100
PREVIEW_LOST_AFTER = timedelta(minutes=1)
"""After this time the messages of a draft count as lost, and are sent again."""


def advance_campaign(campaign_id: uuid.UUID) -> CampaignWorkToEnqueue:
    """Makes the moves that are due, and returns the work to enqueue."""
    to_enqueue = CampaignWorkToEnqueue()
    try:
        loaded = load_campaign(campaign_id)
        if loaded.row.state == "draft":
            compose_campaign(campaign_id)
        if loaded.row.state not in ("running", "paused"):
            return to_enqueue
        for move in next_moves(campaign_facts(loaded), now=timezone.now()):
            make_campaign_move(loaded, move, to_enqueue=to_enqueue)
    except NotFound:
        log.info("the campaign is gone", extra={"campaign": str(campaign_id)})
    except Conflict as moved:
        log.info("the campaign was changed meanwhile", extra={"campaign": str(campaign_id), "code": moved.code})
        to_enqueue.again = moved.code == "moved"
    except (OperationalError, InterfaceError):
        log.exception("database failed", extra={"campaign": str(campaign_id)})
        connection.close_if_unusable_or_obsolete()
    return to_enqueue


def campaigns_to_enqueue() -> list[uuid.UUID]:
    """Returns up to MAX_ENQUEUED drafts and active campaigns in random order, so that old ones do not block
    others.
    """
    waited = timezone.now() - PREVIEW_LOST_AFTER
    rows = Campaign.objects.filter(Q(state__in=("running", "paused")) | Q(state="draft", made_at__lte=waited))
    return list(rows.order_by("?").values_list("pk", flat=True)[:MAX_ENQUEUED])


def campaign_of(journey_id: uuid.UUID) -> uuid.UUID | None:
    """The active campaign of the journey; None if there is none."""
    parts = CampaignMember.objects.filter(journey_id=journey_id, campaign__state__in=("running", "paused"))
    return parts.values_list("campaign_id", flat=True).first()
