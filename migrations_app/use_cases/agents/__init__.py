"""Agents of clusters: their tokens and their sessions."""
