"""Database rows: nouns, without decisions and outside calls. Re-exports nothing, so that imports name their module."""

from migrations_app.models import (
    account,
    audit,
    campaign,
    checkpoint,
    cluster,
    feed,
    journey,
    monitoring,
    notification,
    organization,
    policy,
    rehearsal,
    rollout,
    sample_twin,
    scan,
    service,
)

__all__ = [
    "account",
    "audit",
    "campaign",
    "checkpoint",
    "cluster",
    "feed",
    "journey",
    "monitoring",
    "notification",
    "organization",
    "policy",
    "rehearsal",
    "rollout",
    "sample_twin",
    "scan",
    "service",
]
