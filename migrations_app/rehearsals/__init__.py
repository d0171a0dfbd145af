"""Rehearsals: a plan is carried out on a twin of the cluster, with a simulator of the controllers, on simulated time.

The code of `execution` carries out the steps, as on real clusters. Nothing here changes a cluster or knows a row; no
Django here. `use_cases/rehearsal_runs` stores rehearsals.
"""
