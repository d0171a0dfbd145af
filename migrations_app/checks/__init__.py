"""Judging: one question a file in `catalogue/`, put to an inventory.

Belongs here: the frame of a check, its discovery, the runner. Never: reading from a cluster or a table of rows."""
