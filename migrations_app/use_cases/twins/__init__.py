"""Sample clusters that can be changed: their state in the database, and the clients that read and change it.

Nothing here opens a connection or reads credentials of a registered cluster.
"""
