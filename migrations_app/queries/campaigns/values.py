"""Values of one campaign, its waves, clusters and approvals, for pages and the API."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from migrations_app.campaigns.burn_up import BurnUp
from migrations_app.campaigns.forecast import CampaignForecast
from migrations_app.campaigns.recipe import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """One campaign without its clusters."""

    id: uuid.UUID
    name: str
    digest: Annotated[str, Meta(description="SHA-256 of what is approved; empty for a draft.")]
    risk: Annotated[str, Meta(description="The risk up to which its approval counts; empty if it covers no plan.")]
    state: str
    version: int
    cause_code: str
    cause: str
    wait_code: Annotated[str, Meta(description="Code of what the next wave waits for.")]
    needs_person: Annotated[bool, Meta(description="Whether a person has to do something before it goes on.")]
    author: str
    author_id: int | None
    started_by: str
    made_at: datetime
    expires_at: datetime
    changed_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    ticket: str
    note: str
    done: Annotated[int, Meta(description="Clusters whose last hop was verified.")]
    total: Annotated[int, Meta(description="Clusters that joined.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One cluster of a campaign and how far it is. `steps_done` and `steps` are those of its current journey."""

    id: int
    cluster: uuid.UUID | None
    name: str
    environment: str
    region: str
    wave: Annotated[int, Meta(description="The first wave is 1.")]
    state: str
    cause_code: str
    cause: str
    release: Annotated[str, Meta(description="The release that ran when it was previewed.")]
    target_release: Annotated[str, Meta(description="The release at which it is to end.")]
    hops: int
    hops_left: int
    nodes: Annotated[int | None, Meta(description="Nodes that its hops replace; null where not known.")]
    minutes: Annotated[int | None, Meta(description="Estimate of what karpdash does; null where not known.")]
    journey: uuid.UUID | None
    journey_state: str
    wait_code: str
    needs_person: bool
    steps_done: int
    steps: int
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveRow:
    """One wave. `counts` are its clusters by state."""

    number: Annotated[int, Meta(description="The first wave is 1.")]
    opened_at: datetime | None
    agreed_by: str
    agreed_at: datetime | None
    note: str
    stops: Annotated[int, Meta(description="How often a cluster of it stopped by itself.")]
    total: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignApprovalRow:
    """One person's approval of a campaign. `counts`: not taken back, and the person still has the permission."""

    by: str
    at: datetime
    reason: str
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignBoard:
    """One campaign with its waves and a page of its clusters. `hidden` counts clusters that the caller may not see."""

    row: CampaignRow
    recipe: Recipe
    nonce: str
    needed: int
    approvals: tuple[CampaignApprovalRow, ...]
    waves: tuple[WaveRow, ...]
    members: tuple[MemberRow, ...]
    next_cursor: str
    stopped: tuple[MemberRow, ...]
    """Clusters that a person has to decide about; at most MAX_STOPPED."""
    hidden: int
    forecast: CampaignForecast
    curve: BurnUp
    clusters: tuple[uuid.UUID, ...]
    """Every cluster of the campaign, even those that the caller may not see: only for permission checks."""
