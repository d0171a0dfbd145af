"""Badges and wording for templates."""
