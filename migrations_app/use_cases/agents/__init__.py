"""Agents of clusters: their tokens, their sessions, and the line through them."""
