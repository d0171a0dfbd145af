"""REST of registered clusters: one cluster, several at once, and their credentials."""
