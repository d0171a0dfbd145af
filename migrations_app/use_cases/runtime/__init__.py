"""Services for all use cases: connections, encryption, counters, heartbeats, idempotency keys, disk space."""
