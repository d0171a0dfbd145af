"""Writes a report or runbook as text for a terminal, a pipeline or a ticket. Each module has a pure `render`.

Where the text is written, and whether a terminal shows colours, is decided by the callers.
"""
