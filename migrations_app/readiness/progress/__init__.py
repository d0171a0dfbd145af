"""Computes the progress of the two conversions: what a scan found left, its curve over days, and the percent done."""
