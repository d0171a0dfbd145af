"""Registering clusters and changing what is stored about them."""
