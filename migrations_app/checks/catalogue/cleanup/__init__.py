"""Checks of what is left over when a generation is gone."""
