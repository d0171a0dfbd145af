"""Checks of IAM roles, policies, profiles and the interruption queue."""
