"""Rehearsals as rows: requested, claimed by a worker, stored, and compared with the real run.

`use_cases/rehearsals` plays a rehearsal, without Django. Nothing here changes a cluster.
"""
