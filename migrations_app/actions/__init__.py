"""What may be done to a cluster, as values: plans of requests, worked out from what was seen, sent by nobody here.

changes.py     one mutating request, its target, and the few verbs there are
conditions.py  what has to hold before a request and after it, judged on an object as it was read
plan.py        steps in order, frozen and content-addressed; what a person approves is what is sent
gate.py        what has to be true of the cluster between two batches
base.py        the frame of an action; registry.py finds those of catalogue/
render.py      the same plan as sentences, as kubectl, as manifests for a repository

Deciding what to change belongs here; sending, journalling and approving never do.
"""
