"""Reads and writes YAML and JSON manifests under limits; knows nothing of Karpenter."""
