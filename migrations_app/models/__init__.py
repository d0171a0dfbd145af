"""Rows. Nouns only; no decisions and no outside calls. Re-exports nothing, so that imports name their module."""

from migrations_app.models import cluster, idempotency, kept, person, scan, snapshot, token

__all__ = ["cluster", "idempotency", "kept", "person", "scan", "snapshot", "token"]
