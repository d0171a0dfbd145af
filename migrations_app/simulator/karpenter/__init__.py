"""Simulates Karpenter's own controllers: launch, disruption and termination of nodes."""
