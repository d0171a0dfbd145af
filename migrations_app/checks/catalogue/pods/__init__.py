"""Checks of pods that hold up the replacement of nodes."""
