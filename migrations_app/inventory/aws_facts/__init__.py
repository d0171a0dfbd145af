"""Facts derived from what was seen in AWS."""
