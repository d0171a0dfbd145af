"""Reads the environment as validated values, and builds parts of Django's settings from them."""
