"""Helm release records and charts."""
