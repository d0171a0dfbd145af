"""Simulates Karpenter and the other controllers of a cluster: scheduler, kubelets, replicas, budgets, garbage
collector.

They are simulated as far as nodes need them. The simulator calls a `SimulatorApi` only, reads the time from the clock
that it gets, and decides the same in every run. Nothing here connects to a server or stores a cluster.
"""
