"""Runs of helm in rollouts: planned by dry runs, carried out through a relay, and checked afterwards."""
