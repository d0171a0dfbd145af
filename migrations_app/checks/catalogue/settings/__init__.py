"""Checks of chart values, environment, feature gates and metric names."""
