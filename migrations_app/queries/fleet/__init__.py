"""Reading the fleet: lists, groups, labels, burndown, metrics."""
