"""The sample fleet: one cluster story a file, used by the demo and by the tests."""
