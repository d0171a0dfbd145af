"""Runs of helm: their requests as values, and the step of a plan for a run."""
