"""Campaigns as values: one recipe over many clusters in waves, what each state allows, and the next moves of the
worker.

Pure: `use_cases/campaigns` reads the rows, calls these functions and stores the results.
"""
