"""Typed projections of API objects; unknown fields are ignored."""
