"""What was seen in one cluster at one moment.

Objects, their decoding and cleaning, ownership, and facts derived from them belong here. Checks and network access
do not.
"""
