"""REST of registered clusters: one cluster, several at once, their runbook, actions and credentials."""
