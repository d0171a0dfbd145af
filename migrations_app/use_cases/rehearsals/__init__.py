"""Rehearsals: a plan is carried out on a twin of the cluster, with the simulator beside it, on simulated time.

The steps are carried out by the code of `use_cases/rollouts` that carries them out on real clusters. Nothing here sends
a request to a cluster, except to read it, or writes to the database. No Django, except in `registered`.
"""
