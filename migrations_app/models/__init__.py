"""Rows. Nouns only; no decisions and no outside calls."""
