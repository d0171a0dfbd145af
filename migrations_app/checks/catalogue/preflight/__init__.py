"""Checks of the starting point: release, window, deliveries, rollback."""
