"""Acceptance of the whole catalogue: clusters of many releases, clean or with one known fault."""
