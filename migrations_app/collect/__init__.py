"""Reads an API server and AWS into an inventory."""
