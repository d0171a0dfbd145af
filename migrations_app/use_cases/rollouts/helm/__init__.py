"""Runs of helm in rollouts: planned by playing them, carried out through a relay, and seen afterwards."""
