"""Changes as text, one module for each tool; text that a tool cannot say is empty, never an approximation.

Nothing here looks at an inventory or decides what to change.
"""
