"""Rehearsals of rollouts."""
