"""Rehearsals as rows: requested, claimed by a worker, stored, and compared with the real run.

`migrations_app/rehearsals` plays a rehearsal, without Django. `sources` and `registered_cluster` open the cluster for
a rehearsal that is not stored. Nothing here changes a cluster.
"""
