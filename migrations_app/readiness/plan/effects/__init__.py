"""What a change does to an inventory: the inventory after it, or the reason why none can be told. Pure; no text for
people, no order of work.
"""
