"""The connection to clusters that karpdash cannot reach: an agent in the cluster dials out and carries requests."""
