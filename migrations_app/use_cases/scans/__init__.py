"""From a requested scan to a stored snapshot, and what follows from it."""
