"""Actions on a cluster: each action computes a plan of requests from an inventory. Everything here is plain values.

changes.py defines one request that changes an object; conditions.py what must hold before and after a request;
plan.py the frozen steps, identified by a digest, which are approved and sent unchanged; gate.py what must hold
between two batches; base.py what an action is; registry.py finds the actions in catalogue/; render.py shows a
plan as sentences, kubectl commands and manifests.
Deciding what to change belongs here. Sending, journalling and approving do not.
"""
