"""The sample fleet: one story (a cluster) in each file, used by the demo and by the tests."""
