"""Rehearsals of plans, whether a policy requires one, and observations of the real rollouts."""
