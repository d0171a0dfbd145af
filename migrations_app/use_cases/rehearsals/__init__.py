"""Rehearsals: a plan is carried out on a twin of the cluster, with a simulator of the controllers, on simulated time.

The code of `use_cases/rollouts` carries out the steps, as on real clusters. Nothing here changes a cluster or writes to
the database. No Django, except in `registered_cluster`.
"""
