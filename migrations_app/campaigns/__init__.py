"""Campaigns as values: one recipe over many clusters in waves, what each state allows, and what happens next.

Nothing here reads a row or a cluster; `use_cases/campaigns` stores what is decided here.
"""
