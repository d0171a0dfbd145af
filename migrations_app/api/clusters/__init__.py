"""REST of registered clusters: one, several at once, and how they are reached."""
