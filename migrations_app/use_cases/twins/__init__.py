"""Sample clusters that can be acted on: their state in the database, and the ports by which it is read and changed.

Nothing here opens a connection, and nothing of a registered cluster's credentials is read.
"""
