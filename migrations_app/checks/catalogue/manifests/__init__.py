"""Checks of the objects and manifests that have to be converted."""
