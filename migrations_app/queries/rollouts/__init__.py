"""Reading rollouts and policies."""
