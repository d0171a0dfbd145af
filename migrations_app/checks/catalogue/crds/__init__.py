"""Checks of CustomResourceDefinitions and their conversion."""
