"""Publishes events, routes them to channels, and delivers them."""
