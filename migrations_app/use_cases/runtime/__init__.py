"""Services for all use cases: connections, encryption, counters, heartbeats, leases, idempotency keys, disk space."""
