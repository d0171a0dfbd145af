"""Rehearsals of plans, whether a policy asks for one, and what was seen of the rollouts."""
