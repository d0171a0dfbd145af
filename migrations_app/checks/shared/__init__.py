"""Questions that several checks share."""
