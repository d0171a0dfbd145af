"""The effects of changes: the inventory after a change, or the reason why it is not known.

Pure functions; they write no text for people and know no order of work.
"""
