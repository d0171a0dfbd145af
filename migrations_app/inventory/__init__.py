"""What a scan saw in one cluster.

Objects, their decoding and cleaning, ownership, and facts derived from them belong here. Checks and network access
do not.
"""
