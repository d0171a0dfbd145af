"""Rows. Nouns only; no decisions and no outside calls. Re-exports nothing, so that imports name their module."""

from migrations_app.models import (
    audit,
    checkpoint,
    cluster,
    fleet_scan,
    idempotency,
    kept,
    measure,
    person,
    policy,
    rollout,
    scan,
    snapshot,
    token,
    waiver,
)

__all__ = [
    "audit",
    "checkpoint",
    "cluster",
    "fleet_scan",
    "idempotency",
    "kept",
    "measure",
    "person",
    "policy",
    "rollout",
    "scan",
    "snapshot",
    "token",
    "waiver",
]
