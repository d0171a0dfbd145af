"""Pages of the fleet: the list of clusters, groups, fleet scans, burndown."""
