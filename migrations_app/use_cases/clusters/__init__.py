"""Registering clusters and changing what is kept of them."""
