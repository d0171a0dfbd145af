"""Database models without decisions and calls to other systems. Re-exports nothing, so that imports name their
module.
"""

from migrations_app.models import (
    account,
    audit,
    campaign,
    checkpoint,
    cluster,
    journey,
    monitoring,
    notification,
    organization,
    policy,
    provisioning,
    pull_request,
    rehearsal,
    rollout,
    sample_twin,
    scan,
    scan_event,
    service,
)

__all__ = [
    "account",
    "audit",
    "campaign",
    "checkpoint",
    "cluster",
    "journey",
    "monitoring",
    "notification",
    "organization",
    "policy",
    "provisioning",
    "pull_request",
    "rehearsal",
    "rollout",
    "sample_twin",
    "scan",
    "scan_event",
    "service",
]
