"""Journeys as values: the steps of one hop, their states, what comes next, and what a scan proves.

Nothing here reads a row or a cluster; `use_cases/journeys` stores what is decided here.
"""
