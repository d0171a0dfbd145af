"""Code shared by all endpoints: schema, problems, idempotency, ETags, throttling, permissions."""
