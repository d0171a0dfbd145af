"""Clients of the twin: reading for scans (ClusterApi), writing for rollouts (Writer), and one for the simulator."""
