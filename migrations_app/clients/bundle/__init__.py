"""Offline bundles: reading and writing dumps of a cluster."""
