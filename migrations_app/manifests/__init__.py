"""Reads and writes YAML and JSON manifests under limits. Independent of Karpenter."""
