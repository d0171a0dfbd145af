"""The tools that the remedies of a check may be for, as several checks name them."""

from migrations_app.checks.base import How

CHART_TOOLS: tuple[How, ...] = ("helm", "terraform", "flux", "argocd")
"""What the values or the version of a chart may be changed with."""
OBJECT_TOOLS: tuple[How, ...] = ("kubectl", *CHART_TOOLS)
"""What an object in the cluster may be changed with: directly, or where its source is."""
