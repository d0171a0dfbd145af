"""Checks of workloads that use names of Karpenter."""
