"""Pages of one cluster."""
