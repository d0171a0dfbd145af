"""Pages of rollouts, plans and policies."""
