"""Rehearsals of plans over REST."""
