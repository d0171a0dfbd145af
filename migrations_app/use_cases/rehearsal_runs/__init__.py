"""Rehearsals as rows: asked for, claimed by a worker, stored, and compared with what happened.

What a rehearsal plays is in `use_cases/rehearsals`, without Django. Nothing here changes a cluster.
"""
