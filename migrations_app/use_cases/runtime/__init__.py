"""What every use case needs: connections, encryption, counters, heartbeats, idempotency keys, disk space."""
