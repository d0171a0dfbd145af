"""Pages of the samples: the path of a sample cluster to v1, sign-in as a sample person, reset and removal."""
