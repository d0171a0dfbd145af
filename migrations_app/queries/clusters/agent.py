"""The agent of a cluster: whether it is connected, and what it reported about itself."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

from django.conf import settings
from msgspec import Meta

from migrations_app.errors import NotFound
from migrations_app.models.cluster import ClusterAgent
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

AgentState = Literal["awaited", "connected", "lost", "left", "revoked"]
"""awaited: it never connected; lost: its heartbeats stopped; left: it was stopped."""
SHOWN_SECONDS = 10
"""Heartbeats are only stored every few seconds: the stored time may be this many seconds old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDetail:
    """The agent of one cluster, as reported by its newest connection; empty before the first."""

    state: AgentState
    acts: Annotated[bool, Meta(description="Whether it was installed with the acting role.")]
    helm_in: Annotated[str, Meta(description="The namespace in which it carries runs of helm; empty: in none.")]
    release: str
    server: Annotated[str, Meta(description="The API server that it speaks to.")]
    address: Annotated[str, Meta(description="Where it dials from.")]
    connected_at: datetime | None
    heard_at: datetime | None
    prefix: Annotated[str, Meta(description="How its token begins.")]
    made_at: datetime
    made_by_name: str
    revoked_at: datetime | None
    refused_at: Annotated[datetime | None, Meta(description="When another connection was refused.")]
    refused_code: str


def agent_detail(cluster_id: uuid.UUID, *, now: datetime) -> AgentDetail:
    """The agent of the cluster. Raises NotFound for a cluster without an agent."""
    row = ClusterAgent.objects.filter(visible("cluster_id"), cluster_id=cluster_id).first()
    if row is None:
        raise NotFound("this cluster has no agent")
    return from_row(AgentDetail, row, state=_state(row, now=now))


def _state(row: ClusterAgent, *, now: datetime) -> AgentState:
    if row.revoked_at is not None:
        return "revoked"
    if row.heard_at is None:
        return "awaited"
    if not row.session:
        return "left"
    limit = timedelta(seconds=settings.ENV.agent_lost_after + SHOWN_SECONDS)
    return "connected" if now - row.heard_at < limit else "lost"
