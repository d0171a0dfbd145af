"""Tokens, people, teams, grants and service accounts."""
