"""Actions on a cluster, as values: plans of requests, computed from what was seen.

changes.py has one mutating request, its target and the verbs; conditions.py what must hold before and after it;
plan.py the frozen, content-addressed steps, which are approved and sent unchanged; gate.py what must be true
between two batches; base.py the definition of an action; registry.py finds those in catalogue/; render.py shows a
plan as sentences, kubectl commands and manifests.
Deciding what to change belongs here. Sending, journalling and approving do not.
"""
