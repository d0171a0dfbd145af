"""Template tags and filters: badges and texts."""
