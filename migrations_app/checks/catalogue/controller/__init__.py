"""Checks of how the controller runs and what surrounds it."""
