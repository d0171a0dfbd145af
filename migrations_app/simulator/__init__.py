"""A simulator of Karpenter and of everything else that acts in a cluster beside its API server.

Scheduler, kubelets, the controllers of replicas and of budgets, the garbage collector: as far as nodes need them. It
speaks to a `SimulatorApi` only, reads the time from a clock that it is given, and decides the same in every run.
What it plays belongs here; how a real server or an in-memory cluster is reached never does.
"""
