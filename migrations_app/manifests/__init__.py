"""Reads and writes YAML and JSON manifests under limits. Independent of Karpenter."""

from typing import Any

JsonMap = dict[str, Any]
"""A map of JSON or YAML, such as an object of Kubernetes or a part of it."""
