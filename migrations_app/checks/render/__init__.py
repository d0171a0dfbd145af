"""Writes changes as text, one module per tool. If a tool cannot make a change, the text is empty, never an
approximation.

Nothing here reads an inventory or decides what to change.
"""
