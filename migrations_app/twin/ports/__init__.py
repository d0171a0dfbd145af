"""The twin as its callers use it: reading (ClusterApi), changing (Writer), and the simulator's client."""
