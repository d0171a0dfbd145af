"""Checks: each module in `catalogue/` asks one question about an inventory.

The frame of a check, its discovery and the runner belong here. Reading from a cluster and tables of rows do not.
"""
