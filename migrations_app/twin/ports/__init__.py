"""The twin in the shapes that others ask for: reading (ClusterApi), changing (Writer), and the simulator's client."""
