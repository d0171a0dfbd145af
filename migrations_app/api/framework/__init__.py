"""What every endpoint shares: schema, problems, idempotency, ETags, throttling, permissions."""
