"""Rows. Nouns only; no decisions and no outside calls. Re-exports nothing, so that imports name their module."""

from migrations_app.models import account, audit, checkpoint, cluster, monitoring, notification, policy, rollout, scan

__all__ = [
    "audit",
    "checkpoint",
    "cluster",
    "fleet_scan",
    "grant",
    "group",
    "idempotency",
    "identity",
    "kept",
    "legacy",
    "measure",
    "notification",
    "person",
    "policy",
    "rollout",
    "saved_view",
    "scan",
    "snapshot",
    "token",
    "waiver",
]
