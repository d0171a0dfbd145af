"""Journeys as values: the steps of one hop, their states, the next move of the worker, and what a scan proves.

Pure: `use_cases/journeys` reads the rows, calls these functions and stores the results.
"""
