"""Facts derived from what was seen in the cluster."""
