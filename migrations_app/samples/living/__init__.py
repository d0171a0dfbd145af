"""Sample clusters that can be acted on: how each begins, and what upgrading its controller changes in it."""
